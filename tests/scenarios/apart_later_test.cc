// A plan made before the hosts were asked for their addresses, and what they say then.
#include <gmock/gmock.h>

#include "scenarios/expand.h"
#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

using testing::HasSubstr;

TEST(ApartLater, CellsOfHostsThatTurnOutToBeCabledInARingAreSkipped) {
  const TempFolder folder;
  folder.write("ring.json", R"({"backend": "ring", "envs": [], "hosts": [
      {"ssh": "a", "ips": ["10.0.3.2"], "rdma": []}, {"ssh": "b", "ips": ["10.0.0.2"], "rdma": []},
      {"ssh": "c", "ips": ["10.0.1.2"], "rdma": []}, {"ssh": "d", "ips": ["10.0.2.2"], "rdma": []}]})");
  const std::string path = folder.write("s.json", R"({"plumbline": 1, "roofs": false,
      "hosts": {"hostfile": "ring.json"},
      "matrix": [{"kind": "check", "op": "allreduce", "bytes": 1000, "ranks": [2, 4],
                  "algorithm": ["auto", "ring", "exchange"]}]})");
  const auto scenario = load_scenario(path, vocabulary());
  ASSERT_TRUE(scenario) << all_lines(scenario.error());
  Plan plan = plan_of(*scenario);
  ASSERT_EQ(plan.cells.size(), 6u);
  for (const PlanCell& cell : plan.cells) EXPECT_EQ(cell.skip, "");

  std::vector<ScenarioHost> hosts = scenario->hosts;
  for (size_t i = 0; i < 4; ++i) hosts[i].data = {"192.168.1.1" + std::to_string(i) + "/24"};
  skip_what_is_apart(plan.cells, hosts);
  for (const PlanCell& cell : plan.cells) EXPECT_EQ(cell.skip, "");  // over Ethernet

  const char* cables[][2] = {{"10.0.3.2/30", "10.0.0.1/30"},
                             {"10.0.0.2/30", "10.0.1.1/30"},
                             {"10.0.1.2/30", "10.0.2.1/30"},
                             {"10.0.2.2/30", "10.0.3.1/30"}};
  for (size_t i = 0; i < 4; ++i) hosts[i].data = {cables[i][0], cables[i][1]};
  skip_what_is_apart(plan.cells, hosts);
  for (const PlanCell& cell : plan.cells) {
    if (cell.cell.ranks == 2 || cell.cell.algorithm != "exchange") {
      EXPECT_EQ(cell.skip, "");  // neighbours are enough
    } else {
      EXPECT_THAT(cell.skip, HasSubstr("a and c are not neighbours in the ring"));
      EXPECT_THAT(cell.skip, HasSubstr("sends between ranks 0 and 2, which are not connected"));
    }
  }
}

}  // namespace
}  // namespace plumbline::scenario_test
