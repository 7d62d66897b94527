// Files of records that are damaged, foreign or newer: read as far as possible, with one clear
// warning for each kind of damage, and as errors where nothing may be lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "core/file.h"
#include "core/record/record.h"
#include "core/record/record_parser.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Record record(uint64_t seed = 7) {
  Record record;
  record.suite_version = "0.1.0";
  record.run_id = "00112233";
  record.seed = seed;
  record.cell.kind = CellKind::kLatency;
  record.cell.op = "allreduce";
  record.cell.ranks = 2;
  record.cell.bytes = 1024;
  record.measurement.wrong = 0;
  record.measurement.extra["window_ns"] = 5;
  for (int64_t i = 0; i < 100; ++i) record.measurement.hist.add(10'000 + 7 * i);
  record.measurement.per_rank.push_back({0, "h", 1.0, std::nullopt, 2.0, 3, 4, 5, 6, 7, "", 1,
                                         std::nullopt, std::nullopt, std::nullopt});
  record.environment.hosts.emplace_back().hostname = "h";
  record.environment.options["chunk_bytes"] = {"262144", "default"};
  recompute(record);
  return record;
}

std::string line(uint64_t seed = 7) { return to_line(record(seed)); }

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

class DamagedRecords : public ::testing::Test {
 protected:
  struct Read {
    std::vector<uint64_t> seeds;  // of the records that came out
    std::vector<std::string> warnings;
    std::string error;
  };

  Read read(const std::string& content, Damage damage = Damage::kSkip) {
    path_ = (folder_.path() / "r.jsonl").string();
    std::ofstream(path_, std::ios::binary) << content;
    return read_path(path_, damage);
  }

  static Read read_path(const std::string& path, Damage damage = Damage::kSkip) {
    Read out;
    const Status status = for_each_record(
        path, &out.warnings, [&](const Record& r) { out.seeds.push_back(r.seed); }, damage);
    if (!status) out.error = status.error().message();
    return out;
  }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(DamagedRecords, ABrokenLineInTheMiddleIsLeftOutAndNamed) {
  const std::string content = line(1) + "\n" + line(2).substr(0, 300) + "\n" + line(3) + "\n";
  const Read lenient = read(content);
  EXPECT_THAT(lenient.seeds, ElementsAre(1, 3));
  EXPECT_THAT(lenient.warnings,
              ElementsAre(AllOf(HasSubstr("r.jsonl:2: not a record"), HasSubstr("left out"))));
  EXPECT_EQ(lenient.error, "");
  const Read strict = read(content, Damage::kRefuse);
  EXPECT_THAT(strict.seeds, ElementsAre(1));
  EXPECT_THAT(strict.error, HasSubstr("r.jsonl:2: not a record"));
}

TEST_F(DamagedRecords, ManyBrokenLinesAreCountedNotListed) {
  std::string content = line(1) + "\n";
  for (int i = 0; i < 1000; ++i) content += "rubbish\n";
  const Read done = read(content + line(2) + "\n");
  EXPECT_THAT(done.seeds, ElementsAre(1, 2));
  ASSERT_THAT(done.warnings, SizeIs(kMostWarnings + 1));
  EXPECT_THAT(done.warnings.back(), HasSubstr("r.jsonl: and 990 more warnings"));
}

TEST_F(DamagedRecords, AFileWithoutAnyRecordIsAnError) {
  EXPECT_THAT(read("").error, HasSubstr("r.jsonl holds no record"));
  EXPECT_THAT(read("\n\r\n \n").error, HasSubstr("holds no record"));
  EXPECT_THAT(read("rubbish\n{}\n").error, AllOf(HasSubstr("holds no record; line 1: not a record"),
                                                 HasSubstr("records.jsonl")));
  EXPECT_THAT(read(line().substr(0, 100)).error, HasSubstr("holds no record"));
  // A run that was killed before its first cell can be resumed.
  EXPECT_EQ(read("", Damage::kRefuse).error, "");
  EXPECT_EQ(read(line().substr(0, 100), Damage::kRefuse).error, "");
}

TEST_F(DamagedRecords, UnknownFieldsOfANewerVersionAreIgnored) {
  std::string text = changed(line(5), "{", "{\"aaa\":{\"deep\":[1,{\"b\":\"}\"}]},");
  text = changed(text, "\"kind\":", "\"newer\":[],\"kind\":");
  text = changed(text, "\"noise\":{", "\"noise\":{\"level\":3,");
  const Read done = read(text + "\n");
  EXPECT_THAT(done.seeds, ElementsAre(5));
  EXPECT_THAT(done.warnings, IsEmpty());
}

// Such cells were planned once and never made.
TEST_F(DamagedRecords, CellsOfAnUnknownKindAreLeftOutAndNamed) {
  const std::string probe = changed(line(2), "\"kind\":\"latency\"", "\"kind\":\"probe\"");
  const Read done = read(line(1) + "\n" + probe + "\n" + line(3) + "\n");
  EXPECT_THAT(done.seeds, ElementsAre(1, 3));
  EXPECT_THAT(done.warnings, ElementsAre(AllOf(HasSubstr("r.jsonl:2: "), HasSubstr("'probe'"),
                                               HasSubstr("left out"))));
}

TEST_F(DamagedRecords, NewerSchemasAreReadWithOneWarning) {
  const auto newer = [](uint64_t seed, const char* schema) {
    return changed(line(seed), "\"schema\":2", std::string("\"schema\":") + schema) + "\n";
  };
  std::string content = line(1) + "\n";
  for (uint64_t i = 2; i < 50; ++i) content += newer(i, i % 2 == 0 ? "3" : "4");
  content += changed(newer(50, "5"), "\"run_id\"", "\"name_of_the_run\"") + line(51) + "\n";
  const Read done = read(content);
  EXPECT_THAT(done.seeds, SizeIs(50));
  EXPECT_THAT(done.warnings, ElementsAre(AllOf(HasSubstr(":2: "), HasSubstr("schema 3"),
                                               HasSubstr("newer version")),
                                         AllOf(HasSubstr(":50: "), HasSubstr("run_id"))));
  EXPECT_THAT(read(content, Damage::kRefuse).error,
              AllOf(HasSubstr(":2: "), HasSubstr("schema 3"), HasSubstr("use the version")));
}

TEST_F(DamagedRecords, SchemasThatCannotBeAreRefused) {
  for (const char* schema : {"0", "-1", "1.5", "1e99", "\"1\"", "null", "[1]"}) {
    const Read done = read(changed(line(), "\"schema\":2", std::string("\"schema\":") + schema));
    EXPECT_THAT(done.seeds, IsEmpty()) << schema;
  }
}

// JSON has no such words; Python's and C's writers do.
TEST_F(DamagedRecords, NanAndInfinityAreTakenForNotKnown) {
  std::string text = line(3);
  const size_t p50 = text.rfind("\"busbw_Bps\":") + 12;
  text.replace(p50, text.find(',', p50) - p50, "NaN");
  text = changed(text, "\"window_ns\":5.0", "\"window_ns\":-Infinity,\"x\":inf");
  text = changed(text, "\"mean\":2.0", "\"mean\":nan");
  std::vector<std::string> warnings;
  const auto read_back = record_from_line(text, &warnings);
  ASSERT_TRUE(read_back) << read_back.error().message();
  EXPECT_THAT(read_back->measurement.extra, IsEmpty());
  EXPECT_FALSE(read_back->measurement.per_rank[0].mean);
  EXPECT_TRUE(read_back->busbw_Bps);  // recomputed
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("busbw_Bps is null"), HasSubstr("NaN")));
  // Where a number is needed there is none.
  EXPECT_THAT(record_from_line(changed(line(), "\"bytes\":1024", "\"bytes\":NaN")).error().what,
              HasSubstr("bytes: "));
  EXPECT_THAT(read(text + "\n").seeds, ElementsAre(3));
}

TEST_F(DamagedRecords, WhatOtherSystemsLeaveAroundALine) {
  const Read crlf = read("\xef\xbb\xbf" + line(1) + "\r\n\r\n" + line(2) + "\r\n  \n" + line(3));
  EXPECT_THAT(crlf.seeds, ElementsAre(1, 2, 3))
      << "the last line is whole, only its newline is missing";
  EXPECT_THAT(crlf.warnings, IsEmpty());
}

TEST_F(DamagedRecords, NulBytesAreWhatADiskLost) {
  const std::string nuls(4096, '\0');
  const std::string content = line(1) + "\n" + nuls + line(2) + "\n" + nuls + "\n" + line(3) +
                              "\n" + line(4).insert(100, nuls) + "\n";
  const Read done = read(content);
  EXPECT_THAT(done.seeds, ElementsAre(1, 2, 3));
  EXPECT_THAT(done.warnings, ElementsAre(AllOf(HasSubstr(":3: "), HasSubstr("NUL")),
                                         AllOf(HasSubstr(":5: "), HasSubstr("not a record"))));
  EXPECT_THAT(read(content, Damage::kRefuse).error, HasSubstr(":3: nothing but NUL bytes"));
}

TEST_F(DamagedRecords, ALineLongerThanAnyRecordIsNotHeld) {
  path_ = (folder_.path() / "r.jsonl").string();
  {
    std::ofstream out(path_, std::ios::binary);
    out << line(1) << "\n{\"schema\":1,\"reason\":\"";
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 80; ++i) out << block;
    out << "\n" << line(2) << "\n";
  }
  const Read done = read_path(path_);
  EXPECT_THAT(done.seeds, ElementsAre(1, 2));
  EXPECT_THAT(done.warnings,
              ElementsAre(AllOf(HasSubstr(":2: a line of 83886102 bytes"), HasSubstr("left out"))));
}

TEST_F(DamagedRecords, ATornLastLineIsNoRecordForAResumedRun) {
  const std::string content = line(1) + "\n" + line(2);
  EXPECT_THAT(read(content).seeds, ElementsAre(1, 2));
  // RecordFile::open() cuts it off, so its cell must count as not finished.
  const Read strict = read(content, Damage::kRefuse);
  EXPECT_THAT(strict.seeds, ElementsAre(1));
  EXPECT_THAT(strict.warnings, ElementsAre(HasSubstr(":2: last line is torn")));
}

TEST_F(DamagedRecords, ReasonsAreShortAndPrintable) {
  const std::string evil = "{\"schema\":1,\"run_id\":\"\x1b[31m" + std::string(100'000, 'y');
  for (const std::string& text : {evil, evil + "\"}", std::string("\x1b]0;title\x07\n")}) {
    const auto bad = record_from_line(text);
    ASSERT_FALSE(bad);
    EXPECT_LT(bad.error().what.size(), 400u);
    for (const char c : bad.error().what) EXPECT_TRUE(c >= ' ' && c <= '~') << int{c};
  }
}

TEST_F(DamagedRecords, IntegersOutOfRangeNameTheirKey) {
  for (const auto& [from, to, key] : std::vector<std::array<std::string, 3>>{
           {"\"bytes\":1024", "\"bytes\":-1.5e99", "bytes: "},
           {"\"ranks\":2", "\"ranks\":4294967298", "ranks: "},
           {"\"seed\":7", "\"seed\":-7", "seed: "},
           {"\"wrong\":0", "\"wrong\":1e30", "wrong: "},
           {"\"cpu_ns\":4", "\"cpu_ns\":1e19", "cpu_ns: "},
           {"\"rank\":0", "\"rank\":0.5", "rank: "},
           {"\"min\":10000", "\"min\":1e40", "min: "},
           {"\"min\":10000", "\"min\":20000", "no histogram"},
           {"\"buckets\":[", "\"buckets\":[1,9007199254740993,", "no histogram"},
           {"\"buckets\":[", "\"buckets\":[1,1,5,", "no histogram"},
           {"\"buckets\":[", "\"buckets\":[4294967296,1,", "no whole number"},
           {"\"seed\":7", "\"samples_ns\":[1e99],\"seed\":7", "1e+99 is no whole number"},
           {"\"cores_online\":0", "\"cores_online\":1e10", "cores_online: "}}) {
    const auto bad = record_from_line(changed(line(), from, to));
    ASSERT_FALSE(bad) << to;
    EXPECT_THAT(bad.error().what, HasSubstr(key)) << to;
  }
  const auto whole = record_from_line(changed(line(), "\"seed\":7", "\"seed\":7.0"));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->seed, 7u);
}

// The values of time_ns are only compared; to show one, the library would recurse into it.
TEST_F(DamagedRecords, ADerivedValueMayBeAnythingWithoutHarm) {
  std::string text = line();
  const size_t at = text.rfind("\"p50\":") + 6;
  text.replace(at, text.find(',', at) - at, std::string(50, '[') + std::string(50, ']'));
  std::vector<std::string> warnings;
  EXPECT_TRUE(record_from_line(text, &warnings));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("p50 is no number in the file")));
}

// A parser remembers texts; a record must not depend on what stood before it.
TEST_F(DamagedRecords, ParsingManyLinesIsParsingEachAlone) {
  std::vector<std::string> lines = {line(1), line(2)};
  lines.push_back(changed(line(3), "\"hostname\":\"h\"", "\"hostname\":\"other\""));
  lines.push_back(changed(line(4), "\"environment\":{", "\"environment\":{\"x\":"));
  lines.push_back(line(5));
  lines.push_back(changed(line(6), "\"bytes\":1024", "\"bytes\":2048"));
  lines.push_back(changed(line(7), "\"hist\":{", "\"hist\":{\"new\":1,"));
  Record other = record(9);
  other.soak = SoakMark{3, 4, 0, 5};
  other.measurement.samples_ns = {1, 2, 3};
  other.measurement.wrong.reset();
  other.measurement.resolved.address_pairs = {"0-1 a>b"};
  recompute(other);
  lines.insert(lines.begin() + 1, to_line(other));
  RecordParser parser;
  for (const std::string& text : lines) {
    const auto alone = record_from_line(text);
    const auto together = parser.parse(text, nullptr);
    ASSERT_EQ(alone.has_value(), together.has_value()) << text;
    if (!alone) continue;
    EXPECT_EQ(to_line(**together), to_line(*alone));
  }
}

}  // namespace
}  // namespace plumbline
