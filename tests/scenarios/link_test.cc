// Blocks of link cells: what they expand to, and what is refused.
#include "core/record/link.h"

#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

std::string errors_of(const std::string& blocks) {
  const auto scenario = parse_scenario(with_matrix(blocks), "test.json", vocabulary());
  return scenario ? "" : all_lines(scenario.error());
}

Plan plan_for(const std::string& block) {
  return plan_of(parse(with_matrix(block, R"(, "hosts": {"local": 3})")));
}

TEST(LinkBlock, OperationAloneMeansTheKindAndAllMeasures) {
  const Plan plan = plan_for(R"({"op": "link"})");
  ASSERT_EQ(plan.cells.size(), usual_link_measures().size());  // and no roofs: links are their own
  std::set<std::string> measures;
  for (const PlanCell& cell : plan.cells) {
    EXPECT_EQ(cell.cell.kind, CellKind::kLink);
    EXPECT_EQ(cell.cell.ranks, 3);
    EXPECT_EQ(cell.throughput_time_ns, 500'000'000);
    EXPECT_EQ(cell.skip, "");
    measures.insert(cell.cell.measure);
  }
  EXPECT_EQ(measures.size(), plan.cells.size());
}

// As perftest's programs without arguments.
TEST(LinkBlock, MeasuresOfVerbsHaveTheirOwnSizesAndQueuePairs) {
  const Plan usual = plan_for(R"({"op": "link", "measure": ["send_lat", "write_bw"]})");
  ASSERT_EQ(usual.cells.size(), 2u);
  for (const PlanCell& cell : usual.cells) {
    EXPECT_EQ(cell.cell.bytes, cell.cell.measure == "send_lat" ? 2u : 65'536u);
    EXPECT_EQ(cell.cell.outstanding, 1);
  }
  const Plan plan = plan_for(
      R"({"op": "link", "measure": ["read_lat", "send_bibw"], "bytes": [8, "1Mi"],
          "streams": [1, 4]})");
  std::map<std::string, int> count;
  for (const PlanCell& cell : plan.cells) ++count[cell.cell.measure];
  EXPECT_EQ(count, (std::map<std::string, int>{{"read_lat", 2}, {"send_bibw", 4}}));
}

TEST(LinkBlock, ParametersBelongToTheirMeasures) {
  const Plan plan = plan_for(
      R"({"kind": "link", "op": "link", "measure": ["latency", "parallel", "udp", "stream"],
          "bytes": [1, "4Ki"], "streams": [2, 8], "rate": ["10Mbit", "1Gbit"], "datagram": 500,
          "time": "200ms"})");
  std::map<std::string, int> count;
  for (const PlanCell& cell : plan.cells) {
    ++count[cell.cell.measure];
    EXPECT_EQ(cell.throughput_time_ns, 200'000'000);
    if (cell.cell.measure == "udp") {
      EXPECT_EQ(cell.cell.bytes, 500u);
      EXPECT_GE(cell.cell.rate_bps, 10'000'000u);
    } else {
      EXPECT_EQ(cell.cell.rate_bps, 0u);
    }
  }
  EXPECT_EQ(count, (std::map<std::string, int>{
                       {"latency", 2}, {"parallel", 2}, {"udp", 2}, {"stream", 1}}));
}

TEST(LinkBlock, CellsCanBeSelectedByMeasure) {
  const Scenario scenario = parse(with_matrix(R"({"op": "link"})"));
  EXPECT_EQ(plan_of(scenario, {{"measure=udp,latency"}, {}}).cells.size(), 2u);
  EXPECT_EQ(plan_of(scenario, {{"udp"}, {}}).cells.size(), 1u);
}

TEST(LinkBlock, TimeIsPartOfThePlansHash) {
  EXPECT_NE(plan_for(R"({"op": "link", "time": "1s"})").hash,
            plan_for(R"({"op": "link", "time": "2s"})").hash);
}

TEST(LinkBlock, EstimateFollowsTheRounds) {
  const Plan plan = plan_for(R"({"op": "link", "measure": ["stream", "all_pairs"], "time": "1s"})");
  std::map<std::string, double> seconds;
  for (const PlanCell& cell : plan.cells) seconds[cell.cell.measure] = cell.estimated_s;
  EXPECT_NEAR(seconds["stream"], 6, 1);  // three ranks: six rounds
  EXPECT_NEAR(seconds["all_pairs"], 1, 0.5);
}

TEST(LinkBlock, OneRankIsAnImpossibleCell) {
  const Plan plan = plan_for(R"({"op": "link", "measure": "stream", "ranks": [1, 2]})");
  ASSERT_EQ(plan.cells.size(), 2u);
  EXPECT_NE(plan.cells[0].skip.find("at least 2 ranks"), std::string::npos);
  EXPECT_EQ(plan.cells[1].skip, "");
}

struct Wrong {
  const char* block;
  const char* says;
};

TEST(LinkBlock, WrongBlocksAreRefused) {
  const std::vector<Wrong> all = {
      {R"({"op": "link", "measure": "latancy"})", "latency"},
      {R"({"op": ["link", "allreduce"], "bytes": 8})", "link"},
      {R"({"kind": "link", "op": "allreduce", "bytes": 8})", "links and nothing else"},
      {R"({"kind": "latency", "op": "link"})", "block of its own"},
      {R"({"op": "allreduce", "bytes": 8, "measure": "udp"})", "'measure' means nothing"},
      {R"({"op": "allreduce", "bytes": 8, "rate": "1Gbit"})", "'rate' means nothing"},
      {R"({"op": "link", "dtype": "f32"})", "'dtype' means nothing in a link block"},
      {R"({"op": "link", "stop": {"ci": 0.1}})", "'stop' means nothing"},
      {R"({"op": "link", "rate": "fast"})", "is no rate"},
      {R"({"op": "link", "rate": "1bit"})", "is no rate"},
      {R"({"op": "link", "streams": 0})", "streams"},
      {R"({"op": "link", "streams": 1000})", "streams"},
      {R"({"op": "link", "datagram": 10})", "datagram"},
      {R"({"op": "link", "datagram": "64Ki"})", "datagram"},
      {R"({"op": "link", "bytes": 0})", "at least one byte"},
  };
  for (const Wrong& wrong : all) {
    const std::string lines = errors_of(wrong.block);
    EXPECT_NE(lines.find(wrong.says), std::string::npos) << wrong.block << "\n" << lines;
  }
}

}  // namespace
}  // namespace plumbline::scenario_test
