// The report of a soak over synthetic rounds: what is kept, what is judged, what is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/host/requirement.h"
#include "core/json.h"
#include "reports/read_input.h"
#include "reports/soak/soak_verdict.h"
#include "tests/reports/link_samples.h"
#include "tests/reports/samples.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using samples::link_record;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr int64_t kHourNs = 3'600'000'000'000;
constexpr int64_t kEvery = kHourNs / 12;

double wobble(int64_t i) { return 1 + 0.01 * std::sin(static_cast<double>(i * i)); }

Record of_round(Record record, int64_t round, int64_t idle_ns = 0) {
  record.run_id = "run1";
  record.soak = SoakMark{round, (round - 1) * kEvery + 1'000'000'000, idle_ns, 20u << 20};
  return record;
}

Record latency_round(int64_t round, double p50_ns) {
  Record record = samples::record("latency", "allreduce", "ring", 2, 4096, p50_ns, 60);
  record.measurement.per_rank = {{}};
  record.measurement.per_rank[0].host = "node1";
  record.measurement.per_rank[0].memory_bytes = (30u << 20) + static_cast<uint64_t>(round) * 100;
  return of_round(record, round);
}

SoakEvent event_of(int64_t round, const std::string& kind, const std::string& text,
                   const std::string& host = "node2") {
  SoakEvent event;
  event.run_id = "run1";
  event.round = round;
  event.at_ns = round * kEvery - kEvery / 2;
  event.host = host;
  event.kind = kind;
  event.text = text;
  return event;
}

SoakRun run_of(const std::vector<Record>& records, const std::vector<SoakEvent>& events = {}) {
  SoakCollector collector;
  for (const Record& record : records) EXPECT_TRUE(collector.take(record));
  for (const SoakEvent& event : events) collector.take(event);
  std::vector<SoakRun> runs = collector.finish();
  EXPECT_EQ(runs.size(), 1u);
  return std::move(runs.front());
}

std::string soak_text(const SoakRun& run) {
  Document document;
  add_soak(judge_soak(run), document);
  std::ostringstream out;
  render_text(document, 0, false, out);
  return out.str();
}

TEST(SoakReport, AStepStandsAtItsRoundWithTheEventsBesideIt) {
  std::vector<Record> records;
  for (int64_t round = 1; round <= 40; ++round) {
    records.push_back(latency_round(round, (round < 20 ? 50e3 : 80e3) * wobble(round)));
  }
  const SoakRun run =
      run_of(records, {event_of(3, "link", "en9 mtu 1500 -> 9000"),
                       event_of(19, "counter", "tcp.retransmitted +500 in this round (usually 3)"),
                       event_of(19, "link", "en1 speed 10000 Mb/s -> 1000 Mb/s"),
                       event_of(30, "route", "route to node1: dev en1 -> dev en2")});
  const SoakVerdict verdict = judge_soak(run);
  ASSERT_THAT(verdict.trends, SizeIs(1));
  ASSERT_THAT(verdict.trends[0].steps, SizeIs(1));
  const SoakStep& step = verdict.trends[0].steps[0];
  EXPECT_EQ(step.first_round, 20);
  EXPECT_EQ(step.last_round, 20);
  EXPECT_NEAR(step.after / step.before, 1.6, 0.02);
  ASSERT_THAT(step.beside, SizeIs(2));
  EXPECT_EQ(step.beside[0]->kind, "link") << "the most telling first";
  EXPECT_EQ(step.beside[1]->kind, "counter");
  EXPECT_FALSE(verdict.trends[0].drifts());
  const std::string text = soak_text(run);
  EXPECT_THAT(text, HasSubstr("step +60 % at 1:35:01 (round 20)"));
  EXPECT_THAT(text, HasSubstr("beside: node2 en1 speed 10000 Mb/s -> 1000 Mb/s; node2 tcp.retr"));
  EXPECT_THAT(text, HasSubstr("40 rounds in 3.25 h, 40 records, 0 errors, 4 events"));
  EXPECT_THAT(text, HasSubstr("coordinator: 20 MiB at first, 20 MiB at the end"));
  EXPECT_THAT(text, HasSubstr("constant"));
}

TEST(SoakReport, ACalmSoakSaysSo) {
  std::vector<Record> records;
  for (int64_t round = 1; round <= 40; ++round) {
    records.push_back(latency_round(round, 50e3 * wobble(round)));
  }
  const std::string text = soak_text(run_of(records));
  EXPECT_THAT(text, HasSubstr("No steps, no drift."));
  EXPECT_THAT(text, Not(HasSubstr("Events")));
}

TEST(SoakReport, AFewRoundsSayThatTheyAreTooFew) {
  std::vector<Record> records;
  for (int64_t round = 1; round <= 3; ++round) records.push_back(latency_round(round, 50e3));
  const std::string text = soak_text(run_of(records));
  EXPECT_THAT(text, HasSubstr("Steps need 11 rounds at least"));
  EXPECT_THAT(text, HasSubstr("too few rounds"));
  EXPECT_THAT(text, Not(HasSubstr("No steps")));
}

TEST(SoakReport, ADriftHasItsBoundAndTheEventsOfItsTime) {
  std::vector<Record> records;
  for (int64_t round = 1; round <= 60; ++round) {
    const double hours = static_cast<double>(round - 1) / 12;
    records.push_back(latency_round(round, 50e3 * wobble(round) * (1 + 0.004 * hours)));
  }
  const SoakRun run = run_of(records, {event_of(9, "temperature", "package 50 -> 60 °C")});
  const SoakVerdict verdict = judge_soak(run);
  ASSERT_THAT(verdict.trends[0].steps, IsEmpty());
  ASSERT_TRUE(verdict.trends[0].drifts());
  EXPECT_LE(verdict.trends[0].drift->low, 200);
  EXPECT_GE(verdict.trends[0].drift->high, 200);
  EXPECT_GT(verdict.trends[0].drift->low, 0);
  const std::string text = soak_text(run);
  EXPECT_THAT(text, HasSubstr("%/h ["));
  EXPECT_THAT(text, HasSubstr("1 event in that time: 0:42:30 round 9 node2: package 50 -> 60"));
}

TEST(SoakReport, EveryDirectionOfALinkIsASeriesOfItsOwn) {
  std::vector<Record> records;
  for (int64_t round = 1; round <= 20; ++round) {
    records.push_back(of_round(link_record("stream", 3,
                                           [&](LinkResult& link) {
                                             *link.rate_Bps *= wobble(round + link.from);
                                             if (round > 12 && link.from == 1 && link.to == 2) {
                                               *link.rate_Bps /= 10;
                                             }
                                             if (link.from == 2) link.skipped = "a leaf";
                                           }),
                               round));
    records.push_back(of_round(link_record("udp", 3,
                                           [&](LinkResult& link) {
                                             if (round > 12 && link.from == 0 && link.to == 1) {
                                               link.udp->received -= 260;
                                             }
                                           }),
                               round));
  }
  const SoakRun run = run_of(records);
  EXPECT_THAT(run.tracks, SizeIs(4 + 6));
  std::vector<std::string> moved;
  for (const SoakTrend& trend : judge_soak(run).trends) {
    for (const SoakStep& step : trend.steps) {
      EXPECT_EQ(step.first_round, 13);
      moved.push_back(trend.track->what + ": " + step_text(step, trend.track->unit));
    }
  }
  EXPECT_THAT(moved, ElementsAre(HasSubstr("b > c rate: step -90 %"),
                                 HasSubstr("a > b loss: step at 1:00:01 (round 13), 0 % -> 10 %")));
}

Record cold_round(int64_t round, int64_t idle_ns, double first_ns) {
  Record record = latency_round(round, 50e3);
  record.soak->idle_ns = idle_ns;
  record.measurement.extra[kColdMeeting] = 300e3;
  record.measurement.extra[kWarmMeeting] = 20e3;
  record.measurement.extra[cold_op_key(1)] = first_ns;
  record.measurement.extra[cold_op_key(2)] = 60e3;
  return record;
}

TEST(SoakReport, IdleTimeIsNoRound) {
  std::vector<Record> records;
  for (int64_t round = 1; round <= 12; ++round) {
    records.push_back(latency_round(round, 50e3));
    records.push_back(cold_round(round, kHourNs / 60, 500e3));
    records.push_back(cold_round(round, kHourNs / 12, 5e6));
  }
  records.push_back(cold_round(13, kHourNs / 12, 1));
  records.back().measurement.outcome = Outcome::kError;
  const SoakRun run = run_of(records);
  ASSERT_THAT(run.tracks, SizeIs(1));
  EXPECT_EQ(run.tracks[0].series.added(), 12u);
  const SoakVerdict verdict = judge_soak(run);
  ASSERT_THAT(verdict.colds, SizeIs(2));
  EXPECT_EQ(verdict.colds[0].first, 500e3);
  EXPECT_EQ(verdict.colds[1].first, 5e6);
  EXPECT_EQ(verdict.colds[1].times, 12u);
  EXPECT_EQ(verdict.colds[1].cold->errors, 1u);
  EXPECT_EQ(verdict.colds[0].warm_meeting, 20e3);
  EXPECT_NEAR(*verdict.colds[0].warm, 50e3, 2e3);
  EXPECT_THAT(soak_text(run), HasSubstr("After idle time"));
}

TEST(SoakReport, MemoryThatGrowsIsSaid) {
  std::vector<Record> records;
  for (int64_t round = 1; round <= 40; ++round) {
    records.push_back(latency_round(round, 50e3));
    *records.back().soak->memory_bytes += static_cast<uint64_t>(round) << 17;
  }
  const SoakVerdict verdict = judge_soak(run_of(records));
  ASSERT_THAT(verdict.memories, SizeIs(2));
  EXPECT_FALSE(verdict.memories[0].constant);
  EXPECT_TRUE(verdict.memories[1].constant);
  EXPECT_THAT(soak_text(run_of(records)), HasSubstr("KiB/h: GROWS"));
}

// An allocator that keeps a block after its first use, and one that leaks a block now and then.
TEST(SoakReport, MemoryThatStepsOnceIsConstantAndTwiceIsNot) {
  for (const bool again : {false, true}) {
    std::vector<Record> records;
    for (int64_t round = 1; round <= 60; ++round) {
      records.push_back(latency_round(round, 50e3));
      if (round >= 21) *records.back().soak->memory_bytes += 17u << 20;
      if (again && round >= 41) *records.back().soak->memory_bytes += 17u << 20;
    }
    const SoakRun run = run_of(records);
    const SoakGrowth growth = judge_soak(run).memories.at(0);
    EXPECT_EQ(growth.constant, !again);
    EXPECT_EQ(growth.step.has_value(), !again);
    const std::string text = soak_text(run);
    if (again) {
      EXPECT_THAT(text, HasSubstr("54 MiB at the end, no trend: GROWS"));
    } else {
      EXPECT_THAT(text, HasSubstr("constant but for one step at 1:40:01 (round 21)"));
    }
  }
}

TEST(SoakReport, RecordsOfOtherRunsAreNone) {
  SoakCollector collector;
  EXPECT_FALSE(collector.take(samples::record("latency", "allreduce", "ring", 2, 64, 5e3)));
  collector.take(event_of(1, "link", "of nobody"));
  EXPECT_THAT(collector.finish(), IsEmpty());
}

class SoakFolder {
 public:
  SoakFolder() {
    std::string pattern = (fs::temp_directory_path() / "plumbline-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~SoakFolder() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// The whole way: files, the reports by name, JSON.
TEST(SoakReport, FromTheFilesToTheReports) {
  const SoakFolder folder;
  {
    std::ofstream records(folder.file("records.jsonl"));
    for (int64_t round = 1; round <= 30; ++round) {
      records << to_line(latency_round(round, (round < 15 ? 50e3 : 40e3) * wobble(round))) << "\n";
      records << to_line(cold_round(round, kHourNs / 60, 500e3)) << "\n";
    }
    std::ofstream events(folder.file("events.jsonl"));
    events << to_line(event_of(14, "link", "en1 'quoted' \"twice\" `and` so")) << "\n";
  }
  ReportInput input;
  ASSERT_TRUE(read_report_input({folder.file("records.jsonl")}, input));
  // The tables show the last round.
  ASSERT_THAT(input.records, SizeIs(1));
  EXPECT_EQ(input.records[0].soak->round, 30);
  EXPECT_EQ(input.records[0].soak->idle_ns, 0);
  ASSERT_THAT(input.soaks, SizeIs(1));
  EXPECT_THAT(input.notes, ElementsAre(HasSubstr("a soak of 30 rounds")));

  for (const char* name : {"console", "markdown"}) {
    std::ostringstream out;
    ReportTarget target;
    target.out = &out;
    ASSERT_TRUE(find_report(name)->write(input, target));
    EXPECT_THAT(out.str(), HasSubstr("(round 15)")) << name;
  }
  ReportTarget target;
  target.directory = folder.file("soak");
  const auto written = find_report("soak")->write(input, target);
  ASSERT_TRUE(written) << written.error().message();
  std::ifstream file(folder.file("soak/soak.json"));
  const auto json = nlohmann::json::parse(file);
  const auto& soak = json["soaks"][0];
  EXPECT_EQ(soak["rounds"], 30);
  EXPECT_EQ(soak["cells"][0]["steps"][0]["first_round"], 15);
  EXPECT_EQ(soak["cells"][0]["steps"][0]["beside"][0]["host"], "node2");
  EXPECT_THAT(soak["cells"][0]["points"], SizeIs(30));
  EXPECT_EQ(soak["idle"][0]["first_ns"], 500e3);
  EXPECT_EQ(soak["memory"][0]["process"], "coordinator");
  EXPECT_THAT(soak["events"], SizeIs(1));
  EXPECT_TRUE(fs::exists(folder.file("soak/soak.md")));
  static constexpr std::array kNeeds = {"gnuplot"};
  if (unmet(kNeeds)) GTEST_SKIP() << "pictures need gnuplot";
  EXPECT_GT(fs::file_size(folder.file("soak/soak_1.svg")), 1000u);
  EXPECT_GT(fs::file_size(folder.file("soak/soak_1.png")), 1000u);
}

TEST(SoakReport, ABrokenEventFileIsANoteAndNoMore) {
  const SoakFolder folder;
  std::ofstream(folder.file("records.jsonl")) << to_line(latency_round(1, 5e3)) << "\n";
  std::ofstream(folder.file("events.jsonl")) << "nonsense\n";
  ReportInput input;
  ASSERT_TRUE(read_report_input({folder.file("records.jsonl")}, input));
  EXPECT_THAT(input.soaks, SizeIs(1));
  ASSERT_THAT(input.notes, SizeIs(1));
  EXPECT_THAT(input.notes[0], HasSubstr("events.jsonl:1"));
  EXPECT_FALSE(read_report_input({folder.file("none.jsonl")}, input));
}

TEST(SoakReport, NothingToSayWithoutASoak) {
  ReportInput input;
  input.records = {samples::record("latency", "allreduce", "ring", 2, 64, 5e3)};
  const SoakFolder folder;
  ReportTarget target;
  target.directory = folder.file("soak");
  const auto written = find_report("soak")->write(input, target);
  ASSERT_TRUE(written);
  EXPECT_THAT(*written, IsEmpty());
  EXPECT_FALSE(fs::exists(folder.file("soak")));
}

TEST(SoakReport, KeepsNoMoreThanItsBounds) {
  SoakCollector collector;
  Record record = latency_round(1, 5e3);
  for (record.soak->round = 1; record.soak->round <= 20'000; ++record.soak->round) {
    collector.take(record);
  }
  for (size_t i = 0; i < kMostSoakEvents + 50; ++i) collector.take(event_of(1, "link", "x"));
  const std::vector<SoakRun> runs = collector.finish();
  EXPECT_LE(runs[0].tracks[0].series.points().size(), BoundedSeries::kMostPoints + 1);
  EXPECT_EQ(runs[0].events.size(), kMostSoakEvents);
  EXPECT_EQ(runs[0].events_left_out, 50u);
}

}  // namespace
}  // namespace plumbline
