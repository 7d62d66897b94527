#include "core/record/record.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/support/record_line.h"

namespace plumbline {
namespace {

Record sample_record() {
  Record record;
  record.suite_version = "0.1.0";
  record.run_id = "00112233";
  record.time = "2026-11-20T05:06:07.123Z";
  record.scenario = "smoke";
  record.plan_hash = "abc";
  record.seed = 7;
  record.cell.kind = CellKind::kBandwidth;
  record.cell.op = "allreduce";
  record.cell.ranks = 2;
  record.cell.bytes = 1 << 20;
  record.cell.count = 1 << 18;
  record.measurement.wrong = 0;
  record.measurement.verified = true;
  for (int64_t i = 0; i < 100; ++i) {
    record.measurement.samples_ns.push_back(1'000'000 + i);
    record.measurement.hist.add(1'000'000 + i);
  }
  record.measurement.iterations = 100;
  record.measurement.stop_reason = "ci";
  record.measurement.per_rank.push_back(
      {0, "local0", 1.0, std::nullopt, 2.0, 3, 4, 5, 6, 7, "0,4-7", 1, -1e12, 12.5});
  record.measurement.resolved.address_pairs = {"0-1 127.0.0.1:1>127.0.0.1:2"};
  record.measurement.resolved.connections = {{"reno", 65483, 4 << 20, 1 << 20, 2}};
  record.environment.options["chunk_bytes"] = {"262144", "default"};
  recompute(record);
  return record;
}

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plumbline-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

TEST(Cell, IdIsTheHashOfWhatWasAsked) {
  const Record record = sample_record();
  EXPECT_EQ(cell_id(record.cell).size(), 16u);
  Cell other = record.cell;
  EXPECT_EQ(cell_id(other), cell_id(record.cell));
  other.repeat = 1;
  EXPECT_NE(cell_id(other), cell_id(record.cell));
  const std::string text = canonical_json(record.cell);
  EXPECT_EQ(text.find(' '), std::string::npos);
  EXPECT_LT(text.find("\"algorithm\""), text.find("\"bytes\""));
}

TEST(Record, RoundTripKeepsEverything) {
  const Record record = sample_record();
  const std::string line = to_line(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  std::vector<std::string> warnings;
  const Expected<Record> back = record_from_line(line, &warnings);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  EXPECT_EQ(to_line(*back), line);
}

TEST(Record, ASoaksRecordKeepsItsPlace) {
  Record record = sample_record();
  EXPECT_EQ(to_line(record).find("\"soak\""), std::string::npos);
  EXPECT_EQ(to_line(record).find("memory_bytes"), std::string::npos);
  record.soak = SoakMark{17, 5'000'000'000, 60'000'000'000, 1u << 24};
  record.measurement.per_rank[0].memory_bytes = 1u << 20;
  const Expected<Record> back = record_from_line(to_line(record));
  ASSERT_TRUE(back) << back.error().message();
  ASSERT_TRUE(back->soak);
  EXPECT_EQ(back->soak->round, 17);
  EXPECT_EQ(back->measurement.per_rank[0].memory_bytes, 1u << 20);
  EXPECT_EQ(to_line(*back), to_line(record));
  record.soak->memory_bytes.reset();
  EXPECT_EQ(to_line(*record_from_line(to_line(record))), to_line(record));
}

TEST(Record, ASoaksPlaceThatCannotBeIsRefused) {
  Record record = sample_record();
  record.soak = SoakMark{17, 5, 6, 7};
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"round\":17", "\"round\":0"},
                                                        {"\"at_ns\":5", "\"at_ns\":-5"},
                                                        {"\"idle_ns\":6", "\"idle_ns\":-1"},
                                                        {"\"round\":17", "\"round\":\"x\""},
                                                        {"\"at_ns\":5,", ""}}) {
    std::string line = to_line(record);
    line.replace(line.find(from), from.size(), to);
    EXPECT_FALSE(record_from_line(line)) << to;
  }
}

TEST(Record, ALaunchKeepsItsPlace) {
  Record record = sample_record();
  EXPECT_EQ(to_line(record).find("\"launch\""), std::string::npos);
  record.launch = LaunchMark{3, 2, "b"};
  const std::string line = to_line(record);
  const Expected<Record> back = record_from_line(line);
  ASSERT_TRUE(back) << back.error().message();
  ASSERT_TRUE(back->launch);
  EXPECT_EQ(back->launch->number, 3);
  EXPECT_EQ(back->launch->series, 2);
  EXPECT_EQ(back->launch->side, "b");
  EXPECT_EQ(to_line(*back), line);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"number\":3", "\"number\":0"}, {"\"series\":2", "\"series\":-1"}}) {
    std::string broken = line;
    broken.replace(broken.find(from), from.size(), to);
    EXPECT_FALSE(record_from_line(broken)) << to;
  }
}

TEST(Record, WhatAnotherToolReportedIsKeptAndNotPassedOff) {
  Record record = sample_record();
  record.measurement.samples_ns.clear();
  record.measurement.hist = {};
  record.measurement.reported =
      Reported{"osu", "7.1", "mean", 2000.0, std::nullopt, std::nullopt, "doubled"};
  recompute(record);
  EXPECT_FALSE(record.time_ns.p50);
  EXPECT_DOUBLE_EQ(*record.algbw_Bps, (1 << 20) / 2000.0 * 1e9);
  EXPECT_DOUBLE_EQ(*record.busbw_Bps, *record.algbw_Bps);  // of two ranks
  std::vector<std::string> warnings;
  const Expected<Record> again = record_from_line(to_line(record), &warnings);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(to_line(*again), to_line(record));
  EXPECT_EQ(again->measurement.reported->statistic, "mean");
  // What it printed itself counts, also where it is not what the time gives.
  record.measurement.reported->algbw_Bps = 5e9;
  record.measurement.reported->busbw_Bps = 4e9;
  recompute(record);
  EXPECT_EQ(record.algbw_Bps, 5e9);
  EXPECT_EQ(record.busbw_Bps, 4e9);
  // With samples these decide.
  Record sampled = sample_record();
  sampled.measurement.reported = record.measurement.reported;
  recompute(sampled);
  EXPECT_EQ(sampled.algbw_Bps, sample_record().algbw_Bps);
}

TEST(Record, ReportedNumbersThatCannotBeAreRefused) {
  Record record = sample_record();
  record.measurement.reported.emplace();
  record.measurement.reported->time_ns = 5.0;
  std::string line = to_line(record);
  const std::string good = "\"time_ns\":5.0,";
  ASSERT_NE(line.find(good), std::string::npos);
  line.replace(line.find(good), good.size(), "\"time_ns\":-5.0,");
  EXPECT_FALSE(record_from_line(line));
}

TEST(Record, FilesAreReadOneRecordAtATime) {
  const TempDir folder;
  const std::string line = to_line(sample_record());
  std::ofstream(folder.file("r.jsonl")) << line << "\n\n" << line << "\n" << line.substr(0, 100);
  size_t count = 0;
  std::vector<std::string> warnings;
  ASSERT_TRUE(for_each_record(folder.file("r.jsonl"), &warnings, [&](Record) { ++count; }));
  EXPECT_EQ(count, 2u);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find(":4: last line is torn"), std::string::npos);
  std::ofstream(folder.file("bad.jsonl")) << line << "\n{}\n" << line << "\n";
  count = 0;
  const auto take = [&](const Record&) { ++count; };
  const Status bad = for_each_record(folder.file("bad.jsonl"), nullptr, take, Damage::kRefuse);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message().find("bad.jsonl:2"), std::string::npos);
  EXPECT_EQ(count, 1u);
}

TEST(Record, DerivedValuesFollowTheSamples) {
  const Record record = sample_record();
  EXPECT_EQ(*record.time_ns.p50, 1'000'049.5);
  EXPECT_NEAR(*record.busbw_Bps, (1 << 20) / 1'000'049.5 * 1e9, 1);
  EXPECT_FALSE(record.time_ns.p99);
  EXPECT_EQ(record.ideal_wire_bytes, 2u << 20);
}

TEST(Record, AlteredDerivedValueIsReplacedAndReported) {
  std::string line = to_line(sample_record());
  const std::string key = "\"busbw_Bps\":";
  const size_t at = line.find(key) + key.size();
  line.replace(at, line.find(',', at) - at, "9e12");
  std::vector<std::string> warnings;
  const Expected<Record> back = record_from_line(line, &warnings);
  ASSERT_TRUE(back);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("busbw_Bps"), std::string::npos);
  EXPECT_LT(*back->busbw_Bps, 2e9);
}

// JSON has no NaN and no infinity; a well-known tool writes them.
TEST(Record, NonFiniteNumbersBecomeNull) {
  Record record = sample_record();
  record.algbw_Bps = std::numeric_limits<double>::quiet_NaN();
  record.time_ns.p50 = std::numeric_limits<double>::infinity();
  const std::string line = to_line(record);
  EXPECT_EQ(line.find("nan"), std::string::npos);
  EXPECT_EQ(line.find("inf"), std::string::npos);
  EXPECT_NE(line.find("\"algbw_Bps\":null"), std::string::npos);
  EXPECT_TRUE(record_from_line(line));
}

TEST(Record, InvalidUtf8InAReasonStaysJson) {
  Record record = sample_record();
  record.measurement.reason = "bad \xff\xfe bytes \" and \n newline";
  EXPECT_TRUE(record_from_line(to_line(record)));
}

TEST(Record, HostileLinesAreErrorsNotCrashes) {
  const std::string good = to_line(sample_record());
  for (const std::string& line :
       {std::string(""), std::string("{}"), std::string("[]"), std::string("null"),
        std::string("{\"schema\":2}"), std::string(1000, '['), good.substr(0, good.size() / 2),
        std::string("\0\0", 2)}) {
    EXPECT_FALSE(record_from_line(line)) << line;
  }
}

TEST(RecordFile, AppendsAndReadsBack) {
  const TempDir dir;
  Expected<RecordFile> file = RecordFile::open(dir.file("r.jsonl"));
  ASSERT_TRUE(file);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(file->append(sample_record()));
  EXPECT_EQ(read_records(dir.file("r.jsonl")).value().size(), 3u);
}

TEST(RecordFile, TornLastLineIsIgnoredThenCutOff) {
  const TempDir dir;
  const std::string path = dir.file("r.jsonl");
  const std::string line = to_line(sample_record());
  std::ofstream(path) << line << "\n" << line.substr(0, 100);
  std::vector<std::string> warnings;
  EXPECT_EQ(read_records(path, &warnings).value().size(), 1u);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("torn"), std::string::npos);
  Expected<RecordFile> file = RecordFile::open(path);
  ASSERT_TRUE(file->append(sample_record()));
  warnings.clear();
  EXPECT_EQ(read_records(path, &warnings).value().size(), 2u);
  EXPECT_TRUE(warnings.empty());
}

TEST(RecordFile, BadLineInTheMiddleIsNamed) {
  const TempDir dir;
  const std::string path = dir.file("r.jsonl");
  const std::string line = to_line(sample_record());
  std::ofstream(path) << line << "\nrubbish\n" << line << "\n";
  const auto records = read_records(path);
  ASSERT_FALSE(records);
  EXPECT_NE(records.error().what.find("r.jsonl:2:"), std::string::npos) << records.error().what;
}

TEST(RecordFile, UnwritablePathSaysSo) {
  const auto file = RecordFile::open("/proc/nonexistent-folder/r.jsonl");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().sys_errno, ENOENT);
  EXPECT_FALSE(read_records("/proc/nonexistent-folder/r.jsonl"));
}

}  // namespace
}  // namespace plumbline
