// The scenarios that ship: they parse, plan, and take about as long as they say.
#include <map>

#include "core/record/link.h"
#include "tests/scenarios/support.h"
#include "tests/support/places.h"

namespace plumbline::scenario_test {
namespace {

// A vocabulary with the real names of collectives' algorithms would belong to that folder; the
// shipped files name none, so any that knows all operations will do.
Plan shipped(const std::string& name) {
  const std::string path = test::source_dir() + "/scenarios/" + name + ".json";
  const auto scenario = load_scenario(path, vocabulary());
  if (!scenario) {
    ADD_FAILURE() << all_lines(scenario.error());
    return {};
  }
  EXPECT_GT(scenario->question.size(), 10u);
  EXPECT_EQ(scenario->name, name);
  EXPECT_EQ(scenario->question.back(), '?');
  return plan_of(*scenario);
}

std::map<std::string, int> kinds(const Plan& plan) {
  std::map<std::string, int> out;
  for (const PlanCell& cell : plan.cells) ++out[to_string(cell.cell.kind)];
  return out;
}

TEST(ShippedScenarios, Quickstart) {
  const Plan plan = shipped("quickstart");
  EXPECT_GT(plan.estimated_s, 20);
  EXPECT_LT(plan.estimated_s, 75);  // of 90 s; probes and reports need some too
  const auto count = kinds(plan);
  for (const char* kind : {"latency", "bandwidth", "throughput", "check", "roof"}) {
    EXPECT_GT(count.count(kind), 0u) << kind;
  }
  uint64_t largest = 0;
  for (const PlanCell& cell : plan.cells) largest = std::max(largest, cell.cell.bytes);
  EXPECT_EQ(largest, 64u << 20);
}

TEST(ShippedScenarios, Smoke) {
  const Plan plan = shipped("smoke");
  EXPECT_GT(plan.estimated_s, 0.5);
  EXPECT_LT(plan.estimated_s, 5);
}

TEST(ShippedScenarios, LinkMatrixHasEveryMeasureAndNoRoofs) {
  const Plan plan = shipped("link_matrix");
  EXPECT_LT(plan.estimated_s, 60);
  EXPECT_EQ(plan.cells.size(), usual_link_measures().size());
  for (const PlanCell& cell : plan.cells) EXPECT_EQ(cell.cell.kind, CellKind::kLink);
}

// Each item of a checklist is decided by something that the scenario asks or measures.
TEST(ShippedScenarios, EveryItemOfAChecklistCanBeDecided) {
  size_t items = 0;
  for (const char* name : {"thunderbolt_star", "jaccl_mesh", "nightly", "serving"}) {
    const std::string path = test::source_dir() + "/scenarios/" + name + ".json";
    const auto scenario = load_scenario(path, vocabulary());
    ASSERT_TRUE(scenario) << all_lines(scenario.error());
    const Plan plan = plan_of(*scenario);
    std::set<std::string> decided;
    for (const ChecklistCall& call : scenario->checklist) {
      ++items;
      const std::set<std::string> cells = matching_cells(plan, call.cells);
      EXPECT_EQ(cells.empty(), call.cells.empty()) << call.item;
      decided.insert(cells.begin(), cells.end());
    }
    for (const PlanCell& cell : plan.cells) {
      if (cell.cell.kind == CellKind::kRoof) continue;
      EXPECT_EQ(decided.count(cell.id), 1u) << name << ": no item speaks of " << cell.cell.op;
    }
  }
  EXPECT_GE(items, 25u);
}

TEST(ShippedScenarios, JacclMeshHasItsFourPhases) {
  const Plan plan = shipped("jaccl_mesh");
  EXPECT_LT(plan.estimated_s, 40);
  const auto count = kinds(plan);
  EXPECT_GT(count.at("check"), 1);
  EXPECT_EQ(count.at("latency"), 1);
  EXPECT_GT(count.at("bandwidth"), 5);
  for (const PlanCell& cell : plan.cells) {
    if (cell.cell.kind != CellKind::kLatency) continue;
    EXPECT_EQ(cell.cell.count, 1u);
  }
}

TEST(ShippedScenarios, McclTwoNodeSweepsAsMcclDoes) {
  const Plan plan = shipped("mccl_two_node");
  std::set<uint64_t> sizes;
  for (const PlanCell& cell : plan.cells) {
    EXPECT_EQ(cell.cell.ranks, 2);
    if (cell.cell.kind != CellKind::kBandwidth) continue;
    EXPECT_EQ(cell.stop.max_n, 20u);
    sizes.insert(cell.cell.bytes);
  }
  EXPECT_EQ(sizes.size(), 10u);
  EXPECT_EQ(*sizes.begin(), 4096u);
  EXPECT_EQ(*sizes.rbegin(), uint64_t{1} << 30);
}

// Rows of the page compare only while everybody measures the same: a change here begins new
// classes.
TEST(ShippedScenarios, SubmitMeasuresTheSameEverywhere) {
  const Plan plan = shipped("submit");
  EXPECT_LT(plan.estimated_s, 120);
  std::set<std::string> cells;
  for (const PlanCell& cell : plan.cells) {
    EXPECT_EQ(cell.cell.ranks, 2);
    EXPECT_EQ(cell.cell.algorithm, "auto");
    cells.insert(std::string(to_string(cell.cell.kind)) + " " + cell.cell.op + " " +
                 std::to_string(cell.cell.bytes));
  }
  std::set<std::string> expected = {"latency barrier 0"};
  for (const char* op : {"pingpong", "allreduce", "broadcast"}) {
    for (const char* size : {" 8", " 65536"}) expected.insert(std::string("latency ") + op + size);
  }
  for (const char* op :
       {"stream", "allreduce", "reduce_scatter", "allgather", "broadcast", "alltoall"}) {
    for (const char* size : {" 1048576", " 67108864"}) {
      expected.insert(std::string("bandwidth ") + op + size);
    }
  }
  EXPECT_EQ(cells, expected);
}

TEST(ShippedScenarios, ServingAsksEachWayAndSweepsTheLoad) {
  const Plan plan = shipped("serving");
  EXPECT_LT(plan.estimated_s, 150);
  EXPECT_EQ(kinds(plan), (std::map<std::string, int>{{"endpoint", 7}}));
  std::set<std::string> answers;
  std::set<int> loads;
  for (const PlanCell& cell : plan.cells) {
    EXPECT_EQ(cell.cell.ranks, 1);
    EXPECT_EQ(cell.skip, "");
    answers.insert(cell.cell.answer);
    if (cell.cell.max_tokens == 64) loads.insert(cell.cell.outstanding);
  }
  EXPECT_EQ(answers.size(), 2U);
  EXPECT_EQ(loads, (std::set<int>{1, 2, 4, 8, 16}));
}

TEST(ShippedScenarios, NightlyTakesMinutes) {
  const Plan plan = shipped("nightly");
  EXPECT_GT(plan.estimated_s, 60);
  EXPECT_LT(plan.estimated_s, 900);
  const auto count = kinds(plan);
  for (const char* kind : {"link", "check", "latency", "bandwidth", "throughput", "roof"}) {
    EXPECT_GT(count.count(kind), 0u) << kind;
  }
}

TEST(ShippedScenarios, SoakIsShortEnoughForItsGridAndHasCellsForIdleTime) {
  const Plan plan = shipped("soak");
  EXPECT_LT(plan.estimated_s, 60);
  const auto count = kinds(plan);
  EXPECT_EQ(count.count("roof"), 0u);
  for (const char* kind : {"latency", "bandwidth", "link"})
    EXPECT_GT(count.count(kind), 0u) << kind;
}

TEST(ShippedScenarios, BenchmarkMatrixHasEveryOperationInEveryMatrix) {
  const Plan plan = shipped("benchmark_matrix");
  EXPECT_LT(plan.estimated_s, 900);
  std::map<std::string, std::set<std::string>> ops;
  for (const PlanCell& cell : plan.cells) {
    EXPECT_TRUE(cell.skip.empty()) << canonical_json(cell.cell);
    ops[to_string(cell.cell.kind)].insert(cell.cell.op);
  }
  EXPECT_EQ(ops["latency"].size(), op_table().size());
  EXPECT_EQ(ops["throughput"].size(), op_table().size());
  EXPECT_EQ(ops["bandwidth"].size(), op_table().size() - 1);  // a barrier has none
}

TEST(ShippedScenarios, CollectiveCheckCoversEverything) {
  const Plan plan = shipped("collective_check");
  EXPECT_EQ(kinds(plan).size(), 1u);
  EXPECT_EQ(kinds(plan).count("check"), 1u);
  std::set<std::string> ops, dtypes, redops, algorithms;
  std::set<int> ranks;
  for (const PlanCell& cell : plan.cells) {
    ops.insert(cell.cell.op);
    dtypes.insert(cell.cell.dtype);
    redops.insert(cell.cell.redop);
    ranks.insert(cell.cell.ranks);
    algorithms.insert(cell.cell.op + " " + cell.cell.algorithm);
  }
  EXPECT_EQ(ops.size(), op_table().size());
  EXPECT_EQ(dtypes.size(), dtype_table().size());
  EXPECT_EQ(redops.size(), redop_table().size() + 1);  // "none" too
  EXPECT_EQ(ranks, (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8}));
  for (const Descriptor& algorithm : vocabulary().algorithms) {
    const OpRow& op = row(*op_from(algorithm.group));
    if (op.point_to_point) continue;
    EXPECT_EQ(algorithms.count(algorithm.group + " " + algorithm.name), 1u) << algorithm.name;
  }
  EXPECT_GT(plan.cells.size(), 3000u);
  EXPECT_LT(plan.estimated_s, 900);
}

}  // namespace
}  // namespace plumbline::scenario_test
