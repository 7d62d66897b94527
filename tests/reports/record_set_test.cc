// Very many records: merged by cell, in bounded memory, without mixing what must stay apart.
#include "reports/record_set.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "core/file.h"
#include "reports/read_input.h"
#include "reports/view.h"
#include "tests/reports/samples.h"
#include "tests/support/record_line.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Launch `run` of a cell; histogram only.
Record launch(int run, uint64_t bytes, double p50_ns) {
  Record record = samples::record("latency", "allreduce", "ring", 2, bytes, p50_ns, 1000);
  record.run_id = fmt::format("run{}", run);
  record.time = fmt::format("2026-01-01T00:00:{:02}.000Z", run % 60);
  record.measurement.samples_ns.clear();
  recompute(record);
  return record;
}

// 50 launches of cells of 64, 128 and 256 bytes; launch r is r times 0.1 % slower.
std::vector<Record> launches(int runs = 50) {
  std::vector<Record> out;
  for (int run = 0; run < runs; ++run) {
    for (const uint64_t bytes : {64, 128, 256}) {
      out.push_back(launch(run, bytes, 10'000.0 * static_cast<double>(bytes) * (1 + 0.001 * run)));
    }
  }
  return out;
}

struct Taken {
  std::vector<Record> records;
  std::vector<std::string> notes;
  bool merged = false;
};

Taken taken(const std::vector<Record>& records, const RecordSet::Limits& limits) {
  RecordSet set(limits);
  for (const Record& record : records) set.take(record);
  Taken out;
  out.notes = set.notes();
  out.merged = set.merged();
  out.records = set.release();
  return out;
}

RecordSet::Limits at_most(size_t records) {
  RecordSet::Limits limits;
  limits.records = records;
  return limits;
}

TEST(RecordSet, FewRecordsStayAsTheyAre) {
  const std::vector<Record> records = samples::small_run();
  const Taken out = taken(records, {});
  EXPECT_FALSE(out.merged);
  EXPECT_THAT(out.notes, IsEmpty());
  ASSERT_EQ(out.records.size(), records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(to_line(out.records[i]), to_line(records[i]));
    EXPECT_EQ(out.records[i].launches, 1u);
  }
}

TEST(RecordSet, LaunchesOfACellBecomeOne) {
  const std::vector<Record> records = launches();
  const Taken out = taken(records, at_most(20));
  EXPECT_TRUE(out.merged);
  EXPECT_THAT(out.notes, ElementsAre(AllOf(HasSubstr("150 records"), HasSubstr("merged"))));
  ASSERT_THAT(out.records, SizeIs(3));
  for (size_t cell = 0; cell < 3; ++cell) {
    const Record& merged = out.records[cell];
    EXPECT_EQ(merged.cell, records[cell].cell);
    EXPECT_EQ(merged.launches, 50u);
    std::vector<double> medians;
    Histogram all;
    for (size_t i = cell; i < records.size(); i += 3) {
      medians.push_back(*records[i].time_ns.p50);
      all.merge(records[i].measurement.hist);
    }
    EXPECT_EQ(merged.measurement.hist.sparse(), all.sparse());
    EXPECT_EQ(merged.time_ns.n, 50'000u);
    EXPECT_EQ(merged.time_ns.p50, median(medians));
    std::sort(medians.begin(), medians.end());
    const auto ranks = *median_ci_ranks(50);
    EXPECT_EQ(merged.time_ns.p50_ci95->first, medians[ranks.first - 1]);
    EXPECT_EQ(merged.time_ns.p50_ci95->second, medians[ranks.second - 1]);
    EXPECT_EQ(merged.time_ns.p999, summarize(all).p999);
    EXPECT_EQ(merged.measurement.iterations, 50'000u);
    EXPECT_EQ(merged.time, "2026-01-01T00:00:49.000Z");
  }
  const View view = make_view(out.records);
  EXPECT_EQ(view.counts.passed, 150u);
  ASSERT_THAT(view.items, SizeIs(3));
  EXPECT_EQ(view.items[1].time.p50, out.records[1].time_ns.p50) << "not that of the histogram";
}

TEST(RecordSet, TheOrderOfHoldingAndMergingDoesNotMatter) {
  const std::vector<Record> records = launches();
  const Taken early = taken(records, at_most(3)), late = taken(records, at_most(149));
  ASSERT_EQ(early.records.size(), late.records.size());
  for (size_t i = 0; i < early.records.size(); ++i) {
    EXPECT_EQ(to_line(early.records[i]), to_line(late.records[i]));
  }
}

TEST(RecordSet, OutcomesAreCountedNotMixed) {
  std::vector<Record> records = launches(30);
  for (size_t i = 0; i < records.size(); ++i) {
    if (i % 10 == 3) records[i].noise = {"noisy", {"load"}};
    if (i % 10 == 5) {
      records[i].measurement.outcome = Outcome::kFailed;
      records[i].measurement.wrong = 2;
    }
    if (i % 10 == 7) records[i].measurement.outcome = Outcome::kSkipped;
    if (i % 30 == 9) records[i].measurement.resolved.transport = "other";
  }
  const Taken out = taken(records, at_most(20));
  const View view = make_view(out.records);
  EXPECT_EQ(view.counts.passed, 72u);
  EXPECT_EQ(view.counts.failed, 9u);
  EXPECT_EQ(view.counts.skipped, 9u);
  EXPECT_EQ(view.counts.noisy, 9u);
  EXPECT_EQ(view.counts.wrong, 18u);
  std::set<std::string> transports;
  for (const ViewGroup& group : view.groups) transports.insert(group.transport);
  EXPECT_THAT(transports, ElementsAre("other", "tcp"));
}

TEST(RecordSet, AnErrorBeforeALaterLaunchIsLeftOutAsEverywhere) {
  std::vector<Record> records = launches(30);
  for (const size_t i : {0, 3, 40, 89}) records[i].measurement.outcome = Outcome::kError;
  const Taken out = taken(records, at_most(20));
  const View merged = make_view(out.records), whole = make_view(records);
  EXPECT_EQ(merged.counts.errors, 1u);
  EXPECT_EQ(merged.counts.errors, whole.counts.errors);
  EXPECT_EQ(merged.counts.passed, whole.counts.passed);
  EXPECT_THAT(out.notes, Contains(HasSubstr("3 records left out: they ended in error")));
}

TEST(RecordSet, TheSameFileTwiceCountsOnce) {
  std::vector<Record> records = launches(30);
  const std::vector<Record> again = records;
  records.insert(records.end(), again.begin(), again.end());
  const Taken out = taken(records, at_most(20));
  EXPECT_EQ(make_view(out.records).counts.passed, 90u);
  EXPECT_THAT(out.notes, Contains(HasSubstr("90 records repeat a cell of the same run")));
}

TEST(RecordSet, CellsBeyondTheLimitAreCounted) {
  std::vector<Record> records;
  for (uint64_t i = 1; i <= 30; ++i) records.push_back(launch(1, 4 * i, 1e4));
  records[28].measurement.outcome = Outcome::kFailed;
  const Taken out = taken(records, at_most(20));
  EXPECT_THAT(out.records, SizeIs(20));
  EXPECT_THAT(out.notes, Contains(AllOf(HasSubstr("1 failed, 9 passed"), HasSubstr("csv"))));
}

TEST(RecordSet, SamplesBeyondTheLimitGoTheirHistogramsStay) {
  std::vector<Record> records;
  for (int i = 0; i < 4; ++i) {
    records.push_back(samples::record("latency", "allreduce", "ring", 2, 64, 1e4, 1000));
    records.back().run_id = fmt::format("{}", i);
  }
  RecordSet::Limits limits;
  limits.samples = 2500;
  const Taken out = taken(records, limits);
  EXPECT_FALSE(out.merged);
  ASSERT_THAT(out.records, SizeIs(4));
  EXPECT_THAT(out.records[1].measurement.samples_ns, SizeIs(1000));
  EXPECT_THAT(out.records[2].measurement.samples_ns, IsEmpty());
  EXPECT_NEAR(*out.records[3].time_ns.p50, *records[3].time_ns.p50, 20);
  EXPECT_THAT(out.notes, ElementsAre(HasSubstr("of 2 of 4 records only the histogram")));
}

TEST(RecordSet, LargeRecordsAreMergedEarlier) {
  RecordSet::Limits limits;
  limits.bytes = 1 << 20;
  const Taken out = taken(launches(500), limits);
  EXPECT_TRUE(out.merged);
  EXPECT_THAT(out.records, SizeIs(3));
}

TEST(RecordSet, OfRoundsTheLastOneStays) {
  RecordSet set(at_most(20));
  for (int round = 1; round <= 100; ++round) {
    Record record = launch(1, 64, 1e4);
    record.soak = SoakMark{round, round, 0, std::nullopt};
    set.take_round(record);
  }
  for (const Record& record : launches()) set.take(record);
  Record last = launch(1, 64, 1e4);
  last.soak = SoakMark{101, 101, 0, std::nullopt};
  set.take_round(last);
  const std::vector<Record> records = set.release();
  ASSERT_THAT(records, SizeIs(4));
  EXPECT_EQ(records[0].soak->round, 101);
}

TEST(RecordSet, LinkMatricesAreNotAddedUp) {
  std::vector<Record> records;
  for (int run = 0; run < 30; ++run) {
    Record record = launch(run, 64, 1e4);
    record.cell.kind = CellKind::kLink;
    record.cell.measure = "stream";
    LinkResult link;
    link.to = 1;
    link.rate_Bps = run;
    record.measurement.links = {link};
    records.push_back(record);
  }
  const Taken out = taken(records, at_most(20));
  ASSERT_THAT(out.records, SizeIs(1));
  EXPECT_EQ(out.records[0].launches, 30u);
  ASSERT_THAT(out.records[0].measurement.links, SizeIs(1));
  EXPECT_EQ(out.records[0].measurement.links[0].rate_Bps, 29);
}

class ManyRecords : public ::testing::Test {
 protected:
  std::string write(const std::string& name, size_t count) {
    const std::string path = (folder_.path() / name).string();
    std::ofstream out(path);
    std::vector<std::string> lines;
    for (uint64_t cell = 1; cell <= 20; ++cell) {
      lines.push_back(to_line(launch(0, 8 * cell, 1e4 * static_cast<double>(cell))));
    }
    for (size_t i = 0; i < count; ++i) {
      std::string line = lines[i % lines.size()];
      const std::string run = fmt::format("\"run_id\":\"run{:08}\"", i / lines.size());
      out << line.replace(line.find("\"run_id\":\"run0\""), 15, run) << "\n";
    }
    return path;
  }
  TemporaryFolder folder_;
};

std::string report(const char* name, const ReportInput& input) {
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  EXPECT_TRUE(find_report(name)->write(input, target));
  return out.str();
}

TEST_F(ManyRecords, TablesShowLaunchesAndCsvEveryRecord) {
  const std::string path = write("r.jsonl", 2000);
  ReportInput input;
  ASSERT_TRUE(read_report_input({path}, input, {}, at_most(500)));
  EXPECT_THAT(input.records, SizeIs(20));
  EXPECT_THAT(input.merged_files, ElementsAre(path));
  const std::string console = report("console", input);
  EXPECT_THAT(console, AllOf(HasSubstr("100 launches"), HasSubstr("2000 cells: 2000 pass"),
                             HasSubstr("2000 records are too many for tables")));
  const std::string csv = report("csv", input);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2001);
  EXPECT_THAT(csv, HasSubstr("run00000099"));
  // Line by line the same as what few records give, but for the roofs (there are none here).
  ReportInput few;
  ASSERT_TRUE(read_report_input({path}, few));
  EXPECT_THAT(few.merged_files, IsEmpty());
  EXPECT_EQ(report("csv", few), csv);
}

TEST_F(ManyRecords, ACsvOfTooManyFromAPipeSaysWhyNot) {
  ReportInput input;
  input.merged_files = {"-"};
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  const auto written = find_report("csv")->write(input, target);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), HasSubstr("give a file"));
}

// Peak memory of a process of its own while it reads the file, above what it had before; in KiB.
long peak_growth_kib(const std::string& path) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    ReportInput input;
    const bool read = read_report_input({path}, input, {}, at_most(500)).has_value();
    if (read) report("console", input);
    getrusage(RUSAGE_SELF, &after);
    const long grown = read ? after.ru_maxrss - before.ru_maxrss : -1;
    const ssize_t sent = ::write(ends[1], &grown, sizeof(grown));
    _exit(sent == sizeof(grown) ? 0 : 1);
  }
  long grown = -1;
  close(ends[1]);
  const ssize_t got = ::read(ends[0], &grown, sizeof(grown));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return got == sizeof(grown) ? grown : -1;
}

TEST_F(ManyRecords, TenTimesTheRecordsTakeNotMuchMoreMemory) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer keeps freed memory for a while";
  const long few = peak_growth_kib(write("few.jsonl", 2000));
  const long many = peak_growth_kib(write("many.jsonl", 20'000));
  ASSERT_GT(few, 0);
  ASSERT_GT(many, 0);
  // 18000 records more: about 24 bytes each, where the records themselves would be 70 MiB.
  EXPECT_LT(many, few + 4 * 1024) << few << " KiB for a tenth of them";
}

}  // namespace
}  // namespace plumbline
