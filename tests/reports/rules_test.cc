// Rules against records: absolute and relative bounds, missing and invalid results, words.
#include "reports/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

Rule rule(const std::vector<std::string>& where,
          const std::vector<std::pair<std::string, std::string>>& bounds) {
  Rule out;
  out.place = "r.json $.expect[0]";
  for (const std::string& term : where) out.where.push_back(*FilterTerm::parse_unseen(term));
  for (const auto& [metric, text] : bounds) {
    const auto found = find_metric(metric);
    const auto bound =
        parse_bound(metric, found ? std::optional(found->unit()) : std::nullopt, text);
    EXPECT_TRUE(bound) << text;
    if (bound) out.bounds.push_back(*bound);
  }
  return out;
}

RuleVerdict judge(const Rule& rule, const std::vector<Record>& records,
                  const std::vector<Cell>& planned = {}) {
  return judge_rules({{rule}, {}, planned}, make_view(records)).at(0);
}

Record allreduce(uint64_t bytes, double p50_ns, const std::string& kind = "latency") {
  return samples::record(kind, "allreduce", "ring", 2, bytes, p50_ns);
}

TEST(Rules, HoldWhenEveryResultIsWithinTheBound) {
  const std::vector<Record> records = {allreduce(8, 9000), allreduce(64, 9500)};
  const RuleVerdict verdict = judge(rule({"op=allreduce"}, {{"p50", "<=10us"}}), records);
  EXPECT_TRUE(verdict.passed);
  EXPECT_THAT(verdict.cells, SizeIs(2));
  EXPECT_THAT(verdict.failed, SizeIs(0));
  EXPECT_THAT(verdict.message, HasSubstr("2 results hold"));
  EXPECT_THAT(verdict.message, HasSubstr("64 B")) << "the one nearest to the bound";
  EXPECT_EQ(verdict.where, "r.json $.expect[0]");
}

TEST(Rules, ABrokenOneNamesCellsWithValuesWorstFirst) {
  const std::vector<Record> records = {allreduce(8, 9000), allreduce(64, 12'000),
                                       allreduce(512, 30'000)};
  Rule bound = rule({"op=allreduce"}, {{"p50", "<=10us"}});
  const RuleVerdict verdict = judge(bound, records);
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.failed, SizeIs(2));
  EXPECT_THAT(verdict.message, HasSubstr("2 of 3 results"));
  EXPECT_LT(verdict.message.find("512 B"), verdict.message.find("64 B")) << verdict.message;
  EXPECT_THAT(verdict.message, HasSubstr("p50 30"));
  bound.message = "is the cable loose?";
  EXPECT_THAT(judge(bound, records).message, testing::StartsWith("is the cable loose? - 2 of 3"));
}

// However many results there are, a message names the worst few, and a verdict the ids of all.
TEST(Rules, AMessageStaysShort) {
  std::vector<Record> records;
  for (uint64_t i = 0; i < 300; ++i) {
    records.push_back(samples::record("latency", "allreduce", "ring", 2, 8 * (i + 1), 0, 0));
    records.back().measurement.samples_ns.assign(20, 20'000 + static_cast<int64_t>(i * 7 % 300));
    for (const int64_t ns : records.back().measurement.samples_ns) {
      records.back().measurement.hist.add(ns);
    }
  }
  const RuleVerdict verdict = judge(rule({}, {{"p50", "<=10us"}}), records);
  EXPECT_THAT(verdict.failed, SizeIs(300));
  EXPECT_THAT(verdict.message, HasSubstr("300 of 300 results"));
  EXPECT_THAT(verdict.message, HasSubstr("and 295 more"));
  EXPECT_LT(verdict.message.size(), 1000u);
  // i * 7 % 300 is largest at i = 257: 8 * 258 bytes.
  EXPECT_LT(verdict.message.find("2.02 KiB"), verdict.message.find(';')) << verdict.message;
}

TEST(Rules, OneThatAsksForOneValueNamesNoNearest) {
  const std::vector<Record> records = {allreduce(8, 9000)};
  EXPECT_EQ(judge(rule({}, {{"wrong", "0"}}), records).message, "1 result holds");
  EXPECT_THAT(judge(rule({}, {{"wrong", "0"}, {"p50", "<=1s"}}), records).message,
              HasSubstr("nearest to the bound: p50"));
}

TEST(Rules, AreSizeAware) {
  const std::vector<Record> records = {allreduce(8, 9000), allreduce(16 << 20, 9e6)};
  EXPECT_TRUE(judge(rule({"bytes<1Mi"}, {{"p50", "<=10us"}}), records).passed);
  EXPECT_FALSE(judge(rule({}, {{"p50", "<=10us"}}), records).passed);
  EXPECT_TRUE(judge(rule({"bytes=1Mi..64Mi"}, {{"p50", ">=1ms"}}), records).passed);
}

TEST(Rules, NothingThereIsNotPassed) {
  const std::vector<Record> records = {allreduce(8, 9000)};
  Rule missing = rule({"op=broadcast"}, {{"p50", "<=10us"}});
  EXPECT_FALSE(judge(missing, records).passed);
  EXPECT_THAT(judge(missing, records).message, HasSubstr("no result"));
  EXPECT_FALSE(judge(missing, {}).passed);
  missing.optional = true;
  EXPECT_TRUE(judge(missing, records).passed);
  EXPECT_THAT(judge(missing, records).message, HasSubstr("optional"));
}

TEST(Rules, AMetricThatMeansNothingForTheCellsIsNoResult) {
  const std::vector<Record> records = {samples::record("check", "allreduce", "ring", 2, 64, 1, 0)};
  const RuleVerdict verdict = judge(rule({}, {{"p50", "<=10us"}}), records);
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.message, HasSubstr("p50 means nothing for the 1 result"));
}

// A rule over everything must not stumble over cells that have no such value.
TEST(Rules, CellsForWhichAMetricMeansNothingAreLeftAside) {
  std::vector<Record> records = {samples::record("latency", "barrier", "auto", 2, 0, 9000),
                                 allreduce(1 << 20, 1e6)};
  EXPECT_TRUE(judge(rule({}, {{"busbw", ">=0.5GB/s"}}), records).passed);
  EXPECT_THAT(judge(rule({}, {{"busbw", ">=0.5GB/s"}}), records).cells, SizeIs(1));
}

TEST(Rules, InvalidFailedAndErrorResultsDoNotSatisfy) {
  Record invalid = allreduce(8, 9000);
  invalid.noise = {"invalid", {"clock"}};
  EXPECT_FALSE(judge(rule({}, {{"p50", "<=10us"}}), {invalid}).passed);
  EXPECT_THAT(judge(rule({}, {{"p50", "<=10us"}}), {invalid}).message,
              HasSubstr("invalid (clock)"));
  Record error = allreduce(8, 9000);
  error.measurement.outcome = Outcome::kError;
  error.measurement.reason = "rank 1 is gone";
  EXPECT_FALSE(judge(rule({}, {{"wrong", "0"}}), {error}).passed);
  EXPECT_THAT(judge(rule({}, {{"wrong", "0"}}), {error}).message, HasSubstr("rank 1 is gone"));
  Record wrong = allreduce(8, 9000);
  wrong.measurement.wrong = 3;
  wrong.measurement.outcome = Outcome::kFailed;
  EXPECT_THAT(judge(rule({}, {{"wrong", "0"}}), {wrong}).message, HasSubstr("wrong 3"));
  Record noisy = allreduce(8, 9000);
  noisy.noise = {"noisy", {"load"}};
  EXPECT_TRUE(judge(rule({}, {{"p50", "<=10us"}}), {noisy}).passed);
  EXPECT_FALSE(judge(rule({}, {{"noise", "clean"}}), {noisy}).passed);
}

TEST(Rules, SkippedCellsAreMissingUnlessOptional) {
  Record skipped = allreduce(8, 1);
  skipped.measurement.outcome = Outcome::kSkipped;
  skipped.measurement.reason = "needs a power of two";
  const std::vector<Record> records = {skipped, allreduce(64, 9000)};
  Rule bound = rule({}, {{"p50", "<=10us"}});
  EXPECT_FALSE(judge(bound, records).passed);
  EXPECT_THAT(judge(bound, records).message, HasSubstr("needs a power of two"));
  bound.optional = true;
  EXPECT_TRUE(judge(bound, records).passed);
  EXPECT_THAT(judge(bound, records).message, HasSubstr("left out"));
  EXPECT_TRUE(judge(bound, {skipped}).passed) << "nothing but skipped cells";
  // It still has to hold where there is something.
  EXPECT_FALSE(judge(bound, {skipped, allreduce(64, 20'000)}).passed);
}

TEST(Rules, PlannedCellsWithoutARecordAreMissing) {
  const std::vector<Record> records = {allreduce(8, 9000)};
  Cell other = records[0].cell;
  other.bytes = 4096;
  Cell check = other;
  check.kind = CellKind::kCheck;
  Rule bound = rule({"op=allreduce"}, {{"p50", "<=10us"}});
  const RuleVerdict verdict = judge(bound, records, {records[0].cell, other, check});
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.message, HasSubstr("1 of 2 results"));
  EXPECT_THAT(verdict.message, HasSubstr("was not measured"));
  EXPECT_EQ(verdict.failed, std::vector<std::string>{cell_id(other)});
  bound.optional = true;
  EXPECT_TRUE(judge(bound, records, {records[0].cell, other}).passed);
}

TEST(Rules, AQuantileThatTheSamplesCannotCarryIsMissing) {
  const Record few = samples::record("latency", "allreduce", "ring", 2, 8, 9000, 200);
  const RuleVerdict verdict = judge(rule({}, {{"p99", "<=1s"}}), {few});
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.message, HasSubstr("p99: 200 samples are too few"));
}

TEST(Rules, AllBoundsMustHold) {
  const std::vector<Record> records = {allreduce(8, 9000)};
  EXPECT_FALSE(judge(rule({}, {{"wrong", "0"}, {"p50", "<=1us"}}), records).passed);
  EXPECT_TRUE(judge(rule({}, {{"wrong", "0"}, {"p50", "<=1ms"}}), records).passed);
}

TEST(Rules, RelativeToTheRoof) {
  std::vector<Record> records = samples::roofs();
  records.push_back(samples::record("bandwidth", "allreduce", "ring", 2, 16 << 20, 1e7));
  // busbw of two ranks = bytes / time = 1.678 GB/s; the two-way roof is 4 MiB / 1.3 ms = 3.226
  // GB/s.
  const View view = make_view(records);
  const auto share = find_metric("busbw_of_roof")->row->value(view, view.items.back());
  ASSERT_TRUE(share.number);
  EXPECT_NEAR(*share.number, 0.52, 0.01);
  EXPECT_TRUE(judge(rule({"op=allreduce"}, {{"busbw_of_roof", ">=50%"}}), records).passed);
  EXPECT_FALSE(judge(rule({"op=allreduce"}, {{"busbw_of_roof", ">=0.7"}}), records).passed);
  records.erase(records.begin(), records.begin() + 5);
  const RuleVerdict without = judge(rule({}, {{"busbw_of_roof", ">=0.01"}}), records);
  EXPECT_FALSE(without.passed);
  EXPECT_THAT(without.message, HasSubstr("no bare stream was measured"));
}

// A roof that was measured on a busy machine, about 4 times too slow, once let every rule hold.
TEST(Rules, AnImpossibleRoofSatisfiesNone) {
  std::vector<Record> records = samples::roofs();
  for (Record& roof : records) {
    if (roof.cell.op != "raw_duplex") continue;
    roof = samples::record("roof", "raw_duplex", "auto", 2, 4 << 20, 3'000'000);  // 1.4 GB/s
  }
  records.push_back(samples::record("bandwidth", "allreduce", "ring", 2, 1 << 20, 250'000));
  for (const char* bound : {">=0.99", "<=10", "!=1"}) {
    Rule near = rule({"op=allreduce"}, {{"busbw_of_roof", bound}});
    const RuleVerdict verdict = judge(near, records);
    EXPECT_FALSE(verdict.passed) << bound;
    EXPECT_THAT(verdict.message, HasSubstr("reached 4.1"));
    EXPECT_THAT(verdict.message, HasSubstr("the roof of 1.4 GB/s is too low"));
    EXPECT_THAT(verdict.message, HasSubstr("measured at a bad moment"));
    EXPECT_THAT(verdict.message, HasSubstr("measure again"));
    near.optional = true;
    EXPECT_FALSE(judge(near, records).passed) << "it was measured, so optional does not excuse it";
  }
  // Other rules do not care.
  EXPECT_TRUE(judge(rule({"op=allreduce"}, {{"p50", "<=1ms"}}), records).passed);
}

// Two medians of a quiet machine differ by a few percent.
TEST(Rules, ALittleAboveTheRoofIsNoise) {
  std::vector<Record> records = samples::roofs();  // 3.226 GB/s both ways
  records.push_back(
      samples::record("bandwidth", "allreduce", "ring", 2, 1 << 20, 304'000));  // 107 %
  EXPECT_TRUE(judge(rule({"op=allreduce"}, {{"busbw_of_roof", ">=0.99"}}), records).passed);
}

TEST(Rules, AnImpossibleFloorOfLatencySatisfiesNone) {
  std::vector<Record> records = samples::roofs();
  records.push_back(allreduce(8, 3000));  // half a bare round trip is 4.9 us
  const Rule near = rule({"op=allreduce"}, {{"latency_of_roof", ">=0.5"}});
  const RuleVerdict verdict = judge(near, records);
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.message, HasSubstr("half a round trip"));
  EXPECT_THAT(verdict.message, HasSubstr("measure again"));
  records.back() = allreduce(8, 4500);
  EXPECT_TRUE(judge(near, records).passed);
  // Nothing is sent where nothing is left after rounding: 40 times the roof were seen there.
  records.back() = samples::record("latency", "alltoall", "direct", 4, 8, 100);
  ASSERT_EQ(records.back().cell.bytes, 0u);
  const RuleVerdict nothing = judge(rule({"op=alltoall"}, {{"latency_of_roof", ">=0.5"}}), records);
  EXPECT_FALSE(nothing.passed);
  EXPECT_THAT(nothing.message, HasSubstr("latency_of_roof means nothing for the 1 result"));
  records.push_back(samples::record("latency", "barrier", "dissemination", 2, 0, 9000));
  EXPECT_THAT(judge(rule({}, {{"latency_of_roof", ">=0.5"}}), records).message,
              HasSubstr("1 result holds"));
}

// A list once named four results of "2 of 2", because a cell of two runs was counted once.
TEST(Rules, CountsAndListsAgreeOverSeveralRuns) {
  std::vector<Record> records = {allreduce(8, 12'000), allreduce(64, 13'000), allreduce(8, 14'000),
                                 allreduce(64, 9000)};
  records[2].run_id = records[3].run_id = "run2";
  const RuleVerdict verdict = judge(rule({}, {{"p50", "<=10us"}}), records);
  EXPECT_THAT(verdict.message, HasSubstr("3 of 4 results not good enough"));
  EXPECT_EQ(std::count(verdict.message.begin(), verdict.message.end(), ';'), 2) << verdict.message;
  EXPECT_THAT(verdict.message, HasSubstr("run run1)"));
  EXPECT_THAT(verdict.message, HasSubstr("run run2)"));
  EXPECT_THAT(verdict.cells, SizeIs(2)) << "ids of cells, each once";
  EXPECT_THAT(judge(rule({}, {{"p50", "<=1ms"}}), records).message, HasSubstr("4 results hold"));
  records.resize(2);
  EXPECT_THAT(judge(rule({}, {{"p50", "<=10us"}}), records).message, Not(HasSubstr("run run1")))
      << "where there is one run only, its name helps nobody";
}

TEST(Rules, AResultBeyondTwoBoundsIsOneResult) {
  const std::vector<Record> records = {allreduce(8, 9000), allreduce(64, 30'000)};
  const RuleVerdict verdict =
      judge(rule({}, {{"p50", "<=10us"}, {"p90", "<=11us"}, {"wrong", "0"}}), records);
  EXPECT_THAT(verdict.message, HasSubstr("1 of 2 results not good enough"));
  EXPECT_THAT(verdict.message, HasSubstr("p50 30"));
  EXPECT_THAT(verdict.message, HasSubstr("p90 3"));
  EXPECT_EQ(std::count(verdict.message.begin(), verdict.message.end(), ';'), 0) << verdict.message;
  Record error = allreduce(512, 9000);
  error.measurement.outcome = Outcome::kError;
  error.measurement.reason = "rank 1 is gone";
  const RuleVerdict gone = judge(rule({}, {{"p50", "<=10us"}, {"p90", "<=11us"}}), {error});
  EXPECT_EQ(gone.message.find("rank 1 is gone"), gone.message.rfind("rank 1 is gone"))
      << "said once: " << gone.message;
}

TEST(Rules, AreKeptWithWhereTheyWereWritten) {
  Rule one = rule({}, {{"p50", "<=10us"}});
  one.json = R"({"p50":"<=10us"})";
  one.place = "mine/my \"rules\".json $.expect[0]";
  one.origin = "my \"rules\".json $.expect[0]";
  EXPECT_THAT(rules_file_text({one, one}),
              HasSubstr(R"({"from":"my \"rules\".json $.expect[0]","p50":"<=10us"},)"));
  EXPECT_EQ(judge(one, {allreduce(8, 9000)}).where, one.origin);
}

TEST(Rules, RelativeToTheLink) {
  Record record = samples::record("bandwidth", "allreduce", "ring", 2, 16 << 20, 1e7);
  const Rule bound = rule({}, {{"busbw_of_link", ">=0.5"}});
  const RuleVerdict unknown = judge(bound, {record});
  EXPECT_FALSE(unknown.passed);
  EXPECT_THAT(unknown.message, HasSubstr("speed of its link is not known"));
  record.measurement.extra[kLinkSpeed] = 20e9;  // 1.678 GB/s of 2.5
  EXPECT_TRUE(judge(bound, {record}).passed);
  record.measurement.extra[kLinkSpeed] = 1e-320;  // infinitely fast
  EXPECT_FALSE(judge(bound, {record}).passed);
  record.measurement.extra[kLinkSpeed] = 40e9;
  EXPECT_FALSE(judge(bound, {record}).passed);
}

TEST(Rules, RelativeToABaseline) {
  std::vector<Record> old = {allreduce(8, 10'000), allreduce(64, 10'000)};
  old[1].run_id = "another";
  std::vector<Record> twice = old;
  twice.push_back(allreduce(8, 30'000));
  twice.back().run_id = "third";
  twice.push_back(allreduce(8, 12'000));
  twice.back().run_id = "fourth";
  Rule bound = rule({"bytes=8"}, {{"p50_of_baseline", "<=1.05"}});
  bound.baseline = "old";
  RuleRequest request{{bound}, {{"old", make_baseline("old", make_view(old))}}, {}};
  const std::vector<Record> current = {allreduce(8, 12'500)};
  EXPECT_FALSE(judge_rules(request, make_view(current))[0].passed);
  EXPECT_THAT(judge_rules(request, make_view(current))[0].message,
              HasSubstr("p50_of_baseline 125 %"));
  // Of several runs of the cell the median counts: 10, 12, 30 -> 12.
  request.baselines["old"] = make_baseline("old", make_view(twice));
  EXPECT_TRUE(judge_rules(request, make_view(current))[0].passed);
  // A cell that the baseline does not have, and no baseline at all.
  const std::vector<Record> other = {allreduce(4096, 1)};
  request.rules[0].where.clear();
  EXPECT_THAT(judge_rules(request, make_view(other))[0].message,
              HasSubstr("no valid result of this cell in the baseline old"));
  request.baselines.clear();
  EXPECT_THAT(judge_rules(request, make_view(other))[0].message,
              HasSubstr("no baseline was given"));
}

TEST(Rules, LinkMatricesAreJudgedByTheirWorstPair) {
  Record record = samples::record("link", "link", "auto", 2, 64, 1, 0);
  record.cell.measure = "stream";
  LinkResult fast, slow;
  fast.to = slow.from = 1;
  fast.rate_Bps = 5e9;
  slow.rate_Bps = 1e9;
  fast.speed_bps = slow.speed_bps = 40e9;
  record.measurement.links = {fast, slow};
  EXPECT_TRUE(judge(rule({"op=link"}, {{"link_rate", ">=1GB/s"}}), {record}).passed);
  EXPECT_FALSE(judge(rule({"op=link"}, {{"link_rate", ">=2GB/s"}}), {record}).passed);
  EXPECT_FALSE(judge(rule({"op=link"}, {{"link_rate_of_link", ">=0.9"}}), {record}).passed);
  record.measurement.links[1].error = "connection refused";
  EXPECT_THAT(judge(rule({"op=link"}, {{"link_rate", ">=1B/s"}}), {record}).message,
              HasSubstr("rank 1 to 0: connection refused"));
}

// A rule about the rates of links once broke at the cells that measure round trips.
TEST(Rules, AskALinkCellOnlyForWhatItMeasures) {
  Record rtt = samples::record("link", "link", "auto", 2, 64, 1, 0);
  rtt.cell.measure = "latency";
  LinkResult link;
  link.to = 1;
  link.rtt = LinkRtt{100, 9000, 10'000, 11'000, 12'000};
  rtt.measurement.links = {link};
  Record stream = rtt;
  stream.cell.measure = "stream";
  stream.measurement.links[0].rtt.reset();
  stream.measurement.links[0].rate_Bps = 5e9;
  EXPECT_TRUE(
      judge(rule({"op=link"}, {{"link_rate", ">=1GB/s"}, {"link_rtt", "<=20us"}}), {rtt, stream})
          .passed);
  EXPECT_FALSE(judge(rule({"op=link"}, {{"link_rtt", "<=9us"}}), {rtt, stream}).passed);
  EXPECT_FALSE(judge(rule({"op=link"}, {{"link_loss", "<=1%"}}), {rtt, stream}).passed);
}

// A file may hold anything: no value may make the evaluation stumble.
TEST(Rules, HostileRecordsAreJudgedAsBroken) {
  Record record = allreduce(8, 9000);
  record.cell.op = "all\x1b[31mreduce\n";
  record.measurement.samples_ns.clear();
  record.measurement.hist = {};
  for (const MetricRow& row : metric_table()) {
    if (row.unit == MetricUnit::kWord) continue;
    const char* impossible = row.unit == MetricUnit::kTime   ? "<0ns"
                             : row.unit == MetricUnit::kRate ? "<0B/s"
                             : row.unit == MetricUnit::kSize ? "<0"
                                                             : "<0";
    EXPECT_FALSE(judge(rule({}, {{row.name, impossible}}), {record}).passed) << row.name;
  }
}

TEST(Rules, StandInConsoleAndMarkdown) {
  ReportInput input;
  input.records = {allreduce(8, 9000)};
  input.rules = judge_rules({{rule({}, {{"p50", "<=10us"}}), rule({}, {{"p50", "<=1us"}})}, {}, {}},
                            make_view(input.records));
  for (const char* name : {"console", "markdown"}) {
    std::ostringstream out;
    ReportTarget target;
    target.out = &out;
    ASSERT_TRUE(find_report(name)->write(input, target));
    EXPECT_THAT(out.str(), HasSubstr("Rules")) << name;
    EXPECT_THAT(out.str(), HasSubstr("2 rules: 1 pass, 1 fail")) << name;
    EXPECT_THAT(out.str(), HasSubstr("ok")) << name;
    EXPECT_THAT(out.str(), HasSubstr("FAIL")) << name;
    input.rules.pop_back();
    std::ostringstream good;
    target.out = &good;
    ASSERT_TRUE(find_report(name)->write(input, target));
    EXPECT_THAT(good.str(), Not(HasSubstr("1 fail"))) << name;
    input.rules =
        judge_rules({{rule({}, {{"p50", "<=10us"}}), rule({}, {{"p50", "<=1us"}})}, {}, {}},
                    make_view(input.records));
  }
}

TEST(Metrics, TableIsSound) {
  std::set<std::string> names;
  for (const Descriptor& row : metric_descriptors()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_GT(row.help.size(), 5u) << row.name;
    EXPECT_TRUE(metric_unit_from(row.group)) << row.name;
    ASSERT_TRUE(find_metric(row.name)) << row.name;
    EXPECT_EQ(to_string(find_metric(row.name)->unit()), row.group);
  }
  EXPECT_FALSE(find_metric("p50_of_roof"));
  EXPECT_FALSE(find_metric("wrong_of_baseline"));
  EXPECT_FALSE(find_metric(""));
}

}  // namespace
}  // namespace plumbline
