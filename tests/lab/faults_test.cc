// The table of faults, by its plans: nothing is made here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "core/json.h"
#include "lab/fault.h"
#include "lab/fault_tools.h"
#include "lab/lab_files.h"
#include "lab/matrix.h"
#include "tests/lab/lab_helpers.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

struct Planned {
  Lab lab;
  FaultTarget target;
  FaultPlan plan;
};

// A row says first which of its tools this machine lacks, and then what the topology does: the
// tests below that want a network for each fault cannot have one without its tool.
bool lacks_tool(const std::string& reason) {
  return reason.rfind("needs nft", 0) == 0 || reason.rfind("needs python3", 0) == 0;
}
std::string missing_tool(const FaultRow& row) {
  const std::string reason = row.unavailable(lay_out(drawn_topology(0), 0));
  return lacks_tool(reason) ? reason : "";
}

std::vector<Planned> plans_of(const FaultRow& row, uint64_t seeds) {
  std::vector<Planned> out;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Planned planned;
    planned.lab = lay_out(drawn_topology(seed), seed);
    planned.lab.folder = "/run/plumbline/x";
    if (!row.unavailable(planned.lab).empty()) continue;
    std::mt19937_64 random(seed);
    planned.target = *complete_target(planned.lab, {}, random);
    planned.plan = plan_fault(row, planned.lab, planned.target, random);
    out.push_back(std::move(planned));
  }
  return out;
}

class EveryFault : public ::testing::TestWithParam<const FaultRow*> {};

TEST_P(EveryFault, PlansSomethingThatCanBeUndone) {
  if (const std::string tool = missing_tool(*GetParam()); !tool.empty()) GTEST_SKIP() << tool;
  const auto planned = plans_of(*GetParam(), test::kSanitized ? 50 : 150);
  ASSERT_FALSE(planned.empty()) << "no topology can hold it";
  for (const Planned& it : planned) {
    const Injected& injected = it.plan.injected;
    SCOPED_TRACE(injected.how);
    EXPECT_FALSE(injected.how.empty());
    const bool does = !it.plan.steps.empty() || !it.plan.helpers.empty() ||
                      !injected.host_file.empty() || !injected.doctor_args.empty();
    EXPECT_TRUE(does);
    EXPECT_EQ(it.plan.steps.empty(), injected.undo.empty());
    for (const std::string& command : it.plan.steps) {
      check_commands(it.lab, injected.netns, command);
    }
    for (const std::string& command : injected.undo) {
      check_commands(it.lab, injected.netns, command);
    }
    for (const FaultHelper& helper : it.plan.helpers) {
      EXPECT_THAT(lab_namespaces(it.lab), Contains(helper.netns));
    }
    for (const HostFilePatch& patch : injected.host_file) {
      EXPECT_NE(find_lab_host(it.lab, patch.host), nullptr);
      EXPECT_TRUE(patch.value.empty() || nlohmann::json::accept(patch.value)) << patch.value;
    }
    EXPECT_NE(host_file_text(it.lab, injected.host_file), "");
  }
}

TEST_P(EveryFault, SaysWhatDoctorMustSay) {
  static const std::regex kId("[a-z]+\\.[a-z_]+");
  for (const Planned& it : plans_of(*GetParam(), 60)) {
    const Injected& injected = it.plan.injected;
    ASSERT_FALSE(injected.causes.empty());
    for (const std::string& id : injected.causes) EXPECT_TRUE(std::regex_match(id, kId)) << id;
    EXPECT_NE(find_lab_host(it.lab, injected.expect_host), nullptr);
    EXPECT_NE(injected.expect_host, injected.expect_peer);
    if (!injected.expect_peer.empty()) {
      EXPECT_NE(find_lab_host(it.lab, injected.expect_peer), nullptr);
    }
    // A finding as the fault expects it is right, and one about somebody else is not.
    SaidFinding said;
    said.cause = injected.causes.front();
    said.outcome = "fail";
    said.host = injected.expect_host;
    said.peer = injected.expect_peer;
    EXPECT_TRUE(names_fault(injected, said, false));
    said.host = "nobody";
    EXPECT_FALSE(names_fault(injected, said, false));
  }
}

TEST_P(EveryFault, TheSameSeedGivesTheSamePlan) {
  const auto one = plans_of(*GetParam(), 30), two = plans_of(*GetParam(), 30);
  ASSERT_EQ(one.size(), two.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].plan.steps, two[i].plan.steps);
    EXPECT_EQ(one[i].plan.injected.undo, two[i].plan.injected.undo);
  }
}

TEST_P(EveryFault, HasANetworkInTheMatrix) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const MatrixCell cell{MatrixCellKind::kSingle, GetParam()->name, {GetParam()->name}, seed};
    const CellNetwork network = cell_network(cell, false);
    if (lacks_tool(network.unavailable)) GTEST_SKIP() << network.unavailable;
    EXPECT_EQ(network.unavailable, "") << seed;
    EXPECT_EQ(topology_problem(network.topology), "");
  }
}

std::vector<const FaultRow*> rows() {
  std::vector<const FaultRow*> out;
  for (const FaultRow& row : fault_table()) out.push_back(&row);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryFault, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return std::string(row.param->name); });

TEST(Faults, AreManyAndOfAllFamilies) {
  std::set<std::string> names, families;
  for (const FaultRow& row : fault_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    families.insert(row.family);
    EXPECT_EQ(find_fault(row.name), &row);
  }
  EXPECT_GE(names.size(), 45U);
  EXPECT_GE(families.size(), 8U);
  EXPECT_EQ(find_fault("nothing"), nullptr);
}

// No rule of diagnosis may lean on one tool, hook or shape.
TEST(Faults, FiltersComeInManyShapes) {
  for (const char* name : {"drop_inbound", "drop_outbound", "drop_path", "reject_icmp",
                           "partial_drop", "loss_one_way"}) {
    std::set<std::string> kinds;
    for (const Planned& it : plans_of(*find_fault(name), 300)) {
      const std::string how = it.plan.injected.how;
      kinds.insert(how.substr(0, how.find(" on ")).substr(0, how.find(" in the ")));
    }
    EXPECT_GE(kinds.size(), 4U) << name;
  }
}

TEST(Faults, PartialRulesLeaveAPortOpen) {
  for (const char* name : {"partial_drop", "partial_reject", "partial_peer"}) {
    for (const Planned& it : plans_of(*find_fault(name), 200)) {
      const std::string how = it.plan.injected.how;
      const std::string ports = how.substr(how.rfind("ports ") + 6);
      int open = 0;
      for (const int port : it.target.ports) {
        if (ports.find(std::to_string(port)) == std::string::npos) ++open;
      }
      // A port inside a range is written by the range's ends only; count at least by length.
      EXPECT_TRUE(open > 0 || ports.find('-') != std::string::npos) << how;
      EXPECT_NE(ports, "") << how;
    }
  }
}

TEST(Target, IsCompletedOrRefused) {
  LabTopology topology;
  topology.hosts = {"ada", "bode", "curie"};
  topology.size = 3;
  const Lab lab = lay_out(topology, 1);
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i) {
    const auto target = complete_target(lab, {}, random);
    ASSERT_TRUE(target);
    EXPECT_NE(target->host, target->peer);
    EXPECT_THAT(lab.ports, Contains(target->port));
  }
  FaultTarget wanted;
  wanted.peer = "ada";
  for (int i = 0; i < 20; ++i) EXPECT_NE(complete_target(lab, wanted, random)->host, "ada");
  wanted.host = "ada";
  EXPECT_FALSE(complete_target(lab, wanted, random));
  wanted.host = "adda";
  const auto unknown = complete_target(lab, wanted, random);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("did you mean ada"));
  FaultTarget port;
  port.port = 80;
  EXPECT_FALSE(complete_target(lab, port, random));
}

}  // namespace
}  // namespace plumbline
