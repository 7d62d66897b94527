// `plumbline run` as users meet it: records, resume, interrupts, kills, two runs at once.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <set>
#include <sstream>

#include "core/clock.h"
#include "core/record/record.h"
#include "tests/support/ports.h"
#include "tests/support/program.h"
#include "tests/support/record_line.h"
#include "tests/support/references.h"

namespace plumbline {
namespace {

constexpr const char* kElevenCells = R"({
  "plumbline": 1, "question": "Does it work?", "hosts": {"local": 2},
  "launch": {"port_base": "auto"}, "probes": ["link"],
  "matrix": [
    {"kind": "latency", "op": ["allreduce", "barrier"], "bytes": [8, 4096], "stop": {"max_time": "50ms"}},
    {"kind": "bandwidth", "op": "broadcast", "bytes": "64Ki", "placement": "both", "stop": {"max_time": "50ms"}},
    {"kind": "throughput", "op": "allreduce", "bytes": "4Ki", "outstanding": [1, 3], "time": "50ms"},
    {"kind": "check", "op": ["allgather", "alltoall"], "bytes": 1000, "ranks": [1, 2]}],
  "checklist": [{"item": "fast enough", "cells": ["allreduce"]}],
  "report": ["console", "markdown", "csv", "html"], "seed": 7
})";
constexpr size_t kSmallCells = 11;  // plus the roofs

// Long enough to be interrupted.
constexpr const char* kLong = R"({
  "plumbline": 1, "question": "Can it be stopped?", "hosts": {"local": 2},
  "launch": {"port_base": "auto"}, "roofs": false, "probes": [],
  "matrix": [{"kind": "latency", "op": "allreduce", "bytes": {"from": 8, "to": "1Mi", "factor": 2},
              "repeat": 4, "stop": {"ci": 0, "max_n": 10000000, "max_time": "100ms"}}],
  "report": ["console"], "seed": 7
})";
constexpr size_t kLongCells = 72;

std::string records_of(const ScratchFolder& folder) {
  return read_file(folder.path("out/records.jsonl"));
}

std::vector<std::string> run_argv(const ScratchFolder& folder, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"run", folder.path("scenario.json"), "--out", folder.path("out")});
  return plumbline_argv(more);
}

// A second opinion on every line: python3-jsonschema.
std::string schema_complaint(const ScratchFolder& folder) {
  const std::string schema = folder.write("schema.json", record_schema_json());
  const std::string script = folder.write("validate.py", R"(
import json, sys
try:
    import jsonschema
except ImportError:
    print("no jsonschema"); sys.exit(77)
validator = jsonschema.Draft7Validator(json.load(open(sys.argv[1])))
for number, line in enumerate(open(sys.argv[2]), 1):
    for error in validator.iter_errors(json.loads(line)):
        print(number, list(error.path), error.message)
)");
  const Finished done =
      run_program({"/usr/bin/python3", script, schema, folder.path("out/records.jsonl")});
  return done.status == 77 ? "skip" : done.out + done.err;
}

TEST(Run, LeavesValidRecordsAndReports) {
  const ScratchFolder folder;
  folder.write("scenario.json", kElevenCells);
  const Finished done = run_program(run_argv(folder));
  ASSERT_EQ(done.status, 0) << done.out << done.err;
  const auto records = read_records(folder.path("out/records.jsonl"));
  ASSERT_TRUE(records) << records.error().message();
  const auto cells = std::count_if(records->begin(), records->end(), [](const Record& record) {
    return record.cell.kind != CellKind::kRoof;
  });
  EXPECT_EQ(static_cast<size_t>(cells), kSmallCells);
  for (const Record& record : *records) {
    EXPECT_EQ(record.measurement.outcome, Outcome::kPassed) << to_line(record);
    if (record.cell.kind == CellKind::kRoof) continue;
    EXPECT_EQ(record.measurement.wrong, 0u);
    if (record.cell.kind == CellKind::kCheck) continue;  // nothing was timed
    EXPECT_EQ(record.measurement.per_rank.size(), static_cast<size_t>(record.cell.ranks));
  }
  for (const char* name : {"report.md", "doctor.json", "report.html", "checklist.json"}) {
    EXPECT_NE(read_file(folder.path(std::string("out/") + name)), "") << name;
  }
  EXPECT_EQ(read_file(folder.path("out/scenario.json")), kElevenCells);
  EXPECT_NE(done.out.find("records.jsonl"), std::string::npos);
  const std::string complaint = schema_complaint(folder);
  if (complaint == "skip") GTEST_SKIP() << "python3-jsonschema is not installed";
  EXPECT_EQ(complaint, "");
}

// What is made later from the folder alone says what was said when the run ended.
TEST(Run, TheSamePageFromTheFolderAlone) {
  const ScratchFolder folder;
  folder.write("scenario.json", kElevenCells);
  ASSERT_EQ(run_program(run_argv(folder, {"--only", "allreduce"})).status, 0);
  const Finished again = run_program(plumbline_argv(
      {"report", "html", folder.path("out"), "--out", folder.path("out/again.html")}));
  ASSERT_EQ(again.status, 0) << again.err;
  const std::string page = read_file(folder.path("out/report.html"));
  EXPECT_NE(page.find("fast enough"), std::string::npos);
  EXPECT_NE(page.find("Does it work?"), std::string::npos);
  EXPECT_EQ(read_file(folder.path("out/again.html")), page);
}

// Facts read by a rank that is bound to one core once said that the machine had one.
TEST(Run, BoundRanksDoNotMakeTheMachineSmaller) {
  const ScratchFolder folder;
  folder.write("scenario.json", kElevenCells);
  ASSERT_EQ(run_program(run_argv(folder, {"--only", "barrier", "--bind-to", "core"})).status, 0);
  const auto records = read_records(folder.path("out/records.jsonl"));
  ASSERT_TRUE(records && !records->empty());
  EXPECT_EQ(records->front().environment.hosts.at(0).cores_usable, read_host_facts().cores_usable);
}

TEST(Run, SchemaRefusesAnAlteredRecord) {
  const ScratchFolder folder;
  folder.write("scenario.json", kElevenCells);
  ASSERT_EQ(run_program(run_argv(folder, {"--only", "barrier"})).status, 0);
  std::string text = records_of(folder);
  text.replace(text.find("\"outcome\":\"passed\""), 18, "\"outcome\":12345678");
  folder.write("out/records.jsonl", text);
  const std::string complaint = schema_complaint(folder);
  if (complaint == "skip") GTEST_SKIP() << "python3-jsonschema is not installed";
  EXPECT_NE(complaint, "");
}

TEST(Run, RefusesToMixWithAnEarlierRun) {
  const ScratchFolder folder;
  folder.write("scenario.json", kElevenCells);
  ASSERT_EQ(run_program(run_argv(folder, {"--only", "barrier"})).status, 0);
  const std::string before = records_of(folder);
  const Finished again = run_program(run_argv(folder, {"--only", "barrier"}));
  EXPECT_EQ(again.status, 1);
  EXPECT_NE(again.err.find("--resume"), std::string::npos) << again.err;
  EXPECT_EQ(records_of(folder), before);
}

TEST(Run, UnwritableFolderIsAUsageErrorBeforeAnythingStarts) {
  const ScratchFolder folder;
  folder.write("scenario.json", kElevenCells);
  folder.write("out", "a file, not a folder");
  const Finished done = run_program(run_argv(folder));
  EXPECT_EQ(done.status, 1);
  EXPECT_NE(done.err.find("--out"), std::string::npos) << done.err;
}

TEST(Run, DryRunStartsNothing) {
  const ScratchFolder folder;
  folder.write("scenario.json", kElevenCells);
  const Finished done = run_program(run_argv(folder, {"--dry-run"}));
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("plan hash"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
}

TEST(Run, BrokenScenarioStartsNothing) {
  const ScratchFolder folder;
  folder.write("scenario.json",
               R"({"plumbline": 1, "hosts": {"local": 2}, "matrix": [{"op": "allreduse"}]})");
  const Finished done = run_program(run_argv(folder));
  EXPECT_EQ(done.status, 1);
  EXPECT_NE(done.err.find("allreduce"), std::string::npos) << done.err;
  EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
}

// A ring of other ranks than the cell's: said with the place and with what would do.
TEST(Run, AnOrderThatIsNoneStartsNothing) {
  for (const auto& [order, words] :
       {std::pair("0-2-1",
                  "ring:0-2-1 of allreduce over 4 ranks: needs an order of all ranks, such "
                  "as 0-1-2-3"),
        std::pair("0-2-1-1", "has not every rank from 0 to 3 once"),
        std::pair("0-2-1-3;", "is no order of ranks")}) {
    const ScratchFolder folder;
    folder.write("scenario.json",
                 R"({"plumbline": 1, "hosts": {"local": 4}, "matrix": [{"op": "allreduce", )"
                 R"("bytes": 8, "ranks": 4, "algorithm": "ring:)" +
                     std::string(order) + R"("}]})");
    const Finished done = run_program(run_argv(folder));
    EXPECT_EQ(done.status, 1);
    EXPECT_NE(done.err.find(words), std::string::npos) << done.err;
    EXPECT_NE(done.err.find("$.matrix[0].algorithm"), std::string::npos) << done.err;
    EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
  }
}

TEST(Run, InterruptLeavesPartialResultsAndNobody) {
  const ScratchFolder folder;
  folder.write("scenario.json", kLong);
  Program program(run_argv(folder));
  ASSERT_TRUE(program.wait_for_children(2)) << program.err();
  const std::vector<pid_t> ranks = program.children();
  const Deadline deadline = Deadline::after_ms(20'000);
  while (record_count(folder.path("out/records.jsonl")) < 3 && !deadline.passed()) {
    usleep(10'000);
  }
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(10'000), 130) << program.err();
  EXPECT_TRUE(all_gone(ranks, 3000));
  const auto records = read_records(folder.path("out/records.jsonl"));
  ASSERT_TRUE(records);
  EXPECT_GE(records->size(), 3u);
  EXPECT_LT(records->size(), kLongCells);
  EXPECT_NE(program.out().find("allreduce"), std::string::npos) << "a table of what was measured";
  // It says so at once, and in every report that is made later.
  const std::string said = "interrupted after " + std::to_string(records->size()) + " of 72 cells";
  EXPECT_NE(program.err().find(said), std::string::npos) << program.err();
  const Finished later = run_program(plumbline_argv({"report", "junit", folder.path("out")}));
  EXPECT_NE(later.out.find(said), std::string::npos) << later.out;
  EXPECT_NE(later.out.find("errors=\"1\""), std::string::npos);
  EXPECT_NE(later.err.find(said), std::string::npos);
}

// Nothing that is missing may look as if it had been written.
TEST(Run, AFullDiskIsSaidAndLeavesNoHalfReport) {
  const ScratchFolder folder;
  folder.write("scenario.json", kElevenCells);
  ASSERT_EQ(run_program(run_argv(folder, {"--only", "allreduce"})).status, 0);
  for (const char* report : {"html", "csv", "markdown", "junit", "openmetrics", "gbench-json"}) {
    const Finished full =
        run_program(plumbline_argv({"report", report, folder.path("out"), "-o", "/dev/full"}));
    EXPECT_EQ(full.status, 1) << report;
    EXPECT_NE(full.err.find("is the disk full?"), std::string::npos) << report << full.err;
  }
  // Files may not grow beyond 20 KiB, as on a disk that is nearly full: bash counts blocks of 1024.
  const std::string page = folder.path("page.html");
  const Finished cut = run_program(
      {"/bin/bash", "-c", "trap '' XFSZ; ulimit -f 20; exec \"$0\" report html \"$1\" -o \"$2\"",
       plumbline_argv({}).front(), folder.path("out"), page});
  EXPECT_EQ(cut.status, 1) << cut.out << cut.err;
  EXPECT_NE(access(page.c_str(), F_OK), 0) << "half a page";
}

TEST(Run, WithoutAConsoleReportTheCountsAreStillSaid) {
  const ScratchFolder folder;
  folder.write("scenario.json", R"({"plumbline": 1, "question": "q", "hosts": {"local": 2},
    "launch": {"port_base": "auto"}, "roofs": false, "probes": [],
    "matrix": [{"kind": "check", "op": "allreduce", "bytes": 1000}], "report": ["csv"]})");
  const Finished done = run_program(run_argv(folder));
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("1 cell: 1 pass"), std::string::npos) << done.out;
}

// "Report:" and nothing else would look as if there were no links, or no soak, to see.
TEST(Run, AReportWithNothingToShowSaysSo) {
  const ScratchFolder folder;
  folder.write("scenario.json", kElevenCells);
  ASSERT_EQ(run_program(run_argv(folder, {"--only", "allreduce"})).status, 0);
  for (const char* report : {"links", "soak"}) {
    const Finished done =
        run_program(plumbline_argv({"report", report, folder.path("out"), "-o", folder.path("x")}));
    EXPECT_EQ(done.status, 1) << report;
    EXPECT_NE(done.err.find("nothing to write"), std::string::npos) << done.err;
  }
}

TEST(Run, SecondInterruptEndsAtOnce) {
  const ScratchFolder folder;
  folder.write("scenario.json", kLong);
  Program program(run_argv(folder));
  ASSERT_TRUE(program.wait_for_children(2));
  const std::vector<pid_t> ranks = program.children();
  for (const pid_t rank : ranks) kill(rank, SIGSTOP);  // ranks that cannot end in order
  program.signal(SIGINT);
  usleep(300'000);
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(10'000), 130) << program.err();
  EXPECT_TRUE(all_gone(ranks, 3000));
}

TEST(Run, KillLeavesWholeLinesAndResumeCompletesTheRest) {
  const ScratchFolder folder;
  folder.write("scenario.json", kLong);
  std::mt19937 random(20261120);
  size_t before = 0;
  for (int round = 0; round < 3; ++round) {
    Program program(run_argv(folder, {"--resume"}));
    ASSERT_TRUE(program.wait_for_children(2)) << program.err();
    const std::vector<pid_t> ranks = program.children();
    usleep(static_cast<useconds_t>(200'000 + random() % 700'000));
    program.signal(SIGKILL);
    EXPECT_EQ(program.wait(), 128 + SIGKILL);
    EXPECT_TRUE(all_gone(ranks, 3000)) << "ranks outlived their coordinator";
    const std::string text = records_of(folder);
    EXPECT_TRUE(text.empty() || text.back() == '\n');
    const auto records = read_records(folder.path("out/records.jsonl"));
    ASSERT_TRUE(records) << records.error().message();
    EXPECT_GE(records->size(), before);
    before = records->size();
  }
  const Finished done = run_program(run_argv(folder, {"--resume"}));
  ASSERT_EQ(done.status, 0) << done.err;
  const auto records = read_records(folder.path("out/records.jsonl"));
  ASSERT_TRUE(records);
  std::set<std::string> ids;
  for (const Record& record : *records) ids.insert(cell_id(record));
  EXPECT_EQ(records->size(), kLongCells);
  EXPECT_EQ(ids.size(), kLongCells) << "a cell was measured twice";
  // Nothing left to do.
  const std::string all = records_of(folder);
  EXPECT_EQ(run_program(run_argv(folder, {"--resume"})).status, 0);
  EXPECT_EQ(records_of(folder), all);
}

TEST(Run, ResumeRefusesAnotherPlan) {
  const ScratchFolder folder;
  folder.write("scenario.json", kElevenCells);
  ASSERT_EQ(run_program(run_argv(folder, {"--only", "barrier"})).status, 0);
  const Finished done = run_program(run_argv(folder, {"--resume"}));
  EXPECT_EQ(done.status, 1) << done.out;
  EXPECT_NE(done.err.find("plan"), std::string::npos) << done.err;
}

TEST(Run, BusyPortIsNamedWithItsOwner) {
  const ScratchFolder folder;
  const std::string port = std::to_string(test::free_ports(2));
  std::string text = kLong;
  text.replace(text.find("\"auto\""), 6, port);
  folder.write("scenario.json", text);
  Program first(run_argv(folder));
  ASSERT_TRUE(first.wait_for_children(2)) << first.err();
  const Deadline deadline = Deadline::after_ms(20'000);
  while (record_count(folder.path("out/records.jsonl")) == 0 && !deadline.passed()) {
    usleep(10'000);
  }
  const std::vector<pid_t> ranks = first.children();
  ASSERT_EQ(ranks.size(), 2u);
  const Finished second = run_program(
      plumbline_argv({"run", folder.path("scenario.json"), "--out", folder.path("second")}));
  EXPECT_EQ(second.status, 1) << second.err;
  EXPECT_NE(second.err.find(port), std::string::npos) << second.err;
  EXPECT_NE(second.err.find(std::to_string(ranks[0])), std::string::npos) << second.err;
  EXPECT_NE(second.err.find("--port-base auto"), std::string::npos) << second.err;
  const Finished third = run_program(
      plumbline_argv({"run", folder.path("scenario.json"), "--out", folder.path("third"),
                      "--port-base", "auto", "--only", "bytes=8"}));
  EXPECT_EQ(third.status, 0) << third.err;
  EXPECT_TRUE(first.running()) << "the first run was disturbed: " << first.err();
}

TEST(Run, WrongDataIsAFailedRecordAndExitsThree) {
  const ScratchFolder folder;
  folder.write("scenario.json", kElevenCells);
  const Finished done =
      run_program(run_argv(folder, {"--only", "broadcast", "--skip", "roof", "--fault",
                                    "flip:rank=0,peer=1,after=100000"}));
  EXPECT_EQ(done.status, 3) << done.out << done.err;
  const auto records = read_records(folder.path("out/records.jsonl"));
  ASSERT_TRUE(records);
  const auto failed = std::count_if(records->begin(), records->end(), [](const Record& record) {
    return record.measurement.outcome == Outcome::kFailed &&
           record.measurement.wrong.value_or(0) > 0 && record.noise.verdict == "invalid";
  });
  EXPECT_GE(failed, 1);
}

TEST(Run, DataThatTheTransportsChecksumRejectsExitThreeToo) {
  const ScratchFolder folder;
  folder.write("scenario.json", kElevenCells);
  const Finished done =
      run_program(run_argv(folder, {"--only", "broadcast", "--skip", "roof", "--transport-crc",
                                    "on", "--fault", "flip:rank=0,peer=1,after=100000"}));
  EXPECT_EQ(done.status, 3) << done.out << done.err;
  const auto records = read_records(folder.path("out/records.jsonl"));
  ASSERT_TRUE(records);
  const auto rejected = std::count_if(records->begin(), records->end(), [](const Record& record) {
    return record.measurement.outcome == Outcome::kError &&
           record.measurement.cause == "collective.wrong_data";
  });
  EXPECT_GE(rejected, 1);
}

// Far more ranks than cores: they start, are right, end, and every row says that they were crowded.
TEST(Run, SixtyFourRanksOnFewCores) {
  const ScratchFolder folder;
  folder.write("scenario.json", R"({
    "plumbline": 1, "hosts": {"local": 64}, "launch": {"port_base": "auto"}, "roofs": false,
    "matrix": [{"kind": "check", "bytes": [4096, 100000],
                "op": ["allreduce", "reduce_scatter", "allgather", "broadcast", "alltoall",
                       "reduce", "gather", "scatter", "barrier"]}]})");
  // Four thousand connections on few cores take their time, more so under a sanitizer.
  const Finished done =
      run_program(run_argv(folder, {"--no-probes", "--connect-timeout-ms", "120s"}), {}, 280'000);
  ASSERT_EQ(done.status, 0) << done.err;
  const auto records = read_records(folder.path("out/records.jsonl"), nullptr);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 17u);
  for (const Record& record : *records) {
    EXPECT_EQ(record.measurement.outcome, Outcome::kPassed) << record.measurement.reason;
    EXPECT_EQ(record.cell.ranks, 64);
    ASSERT_FALSE(record.environment.hosts.empty());
    const bool crowded = record.environment.hosts[0].cores_usable < 64;
    const auto& causes = record.noise.causes;
    EXPECT_EQ(std::count(causes.begin(), causes.end(), "oversubscribed"), crowded ? 1 : 0);
  }
}

}  // namespace
}  // namespace plumbline
