// What holds for every stack of the table, whatever its model says.
#include <gmock/gmock.h>

#include <set>

#include "core/diagnosis/cause.h"
#include "core/json.h"
#include "probes/stacks/plan_text.h"
#include "probes/stacks/stack.h"
#include "probes/stacks/stack_job.h"
#include "stack_builder.h"

namespace plumbline {
namespace {

using test::ask_stack;
using test::plan_stack;
using test::trap_words;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class EveryStack : public testing::TestWithParam<size_t> {
 protected:
  const StackRow& row() const { return stack_table().at(GetParam()); }
  // With what MLX's launcher would hand down.
  static StackQuestion question(const EvidenceSet& set) {
    StackQuestion out = ask_stack(set);
    out.files["/tmp/ring.json"] =
        R"([["10.10.0.1:32323"],["10.10.0.2:32324"],["10.10.0.3:32325"]])";
    out.files["/tmp/devices.json"] =
        R"([[null,"rdma_en2","rdma_en3"],["rdma_en2",null,"rdma_en3"],["rdma_en2","rdma_en3",null]])";
    for (StackEnvironment& environment : out.environment) {
      environment["MLX_HOSTFILE"] = "/tmp/ring.json";
      environment["MLX_IBV_DEVICES"] = "/tmp/devices.json";
      environment["MLX_JACCL_COORDINATOR"] = "10.10.0.1:32323";
    }
    return out;
  }
};

TEST_P(EveryStack, SaysWhereItWasReadAndWhatChangesIt) {
  EXPECT_FALSE(std::string(row().read_from).empty());
  EXPECT_FALSE(row().variables.empty());
  EXPECT_FALSE(row().version_command.empty());
  std::set<std::string> names;
  for (const StackVariable& variable : row().variables) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    EXPECT_FALSE(variable.effect.empty()) << variable.name;
  }
  for (const std::string& same : row().same) EXPECT_THAT(names, Contains(same));
  for (const std::string& size : row().size) EXPECT_THAT(names, Contains(size));
}

TEST_P(EveryStack, PlansEveryRankWithoutAFaultOfItsOwn) {
  EvidenceSet set = test::healthy_star(3);
  for (HostEvidence& host : set.hosts) host.interfaces.erase(host.interfaces.begin() + 1);  // eth0
  const StackPlan plan = plan_stack(row().name, question(set));
  ASSERT_EQ(plan.ranks.size(), 3U);
  for (const StackTrap& trap : plan.traps) ADD_FAILURE() << trap.cause << ": " << trap.text;
  for (const StackRank& rank : plan.ranks) {
    const bool only_calls = plan.stack == "mlx-jaccl" && rank.rank != 0;
    EXPECT_EQ(rank.ip.empty(), only_calls) << rank.cannot;
    if (!only_calls) {
      EXPECT_EQ(rank.ip, "10.10.0." + std::to_string(rank.rank + 1));
    }
  }
}

TEST_P(EveryStack, SpeaksInKnownCauses) {
  EvidenceSet set = test::healthy_star(3);
  test::add_docker(set);
  StackQuestion asked = ask_stack(set, {{"MASTER_PORT", "no port"},
                                        {"WORLD_SIZE", "1"},
                                        {"MLX_HOSTFILE", "/none"},
                                        {"GLOO_SOCKET_IFNAME", "eth9"},
                                        {"NCCL_SOCKET_IFNAME", "eth9"},
                                        {"UCX_NET_DEVICES", "eth9"},
                                        {"MCCL_LISTEN_ADDR", "10.9.9.9"},
                                        {"OMPI_MCA_btl_tcp_if_include", "eth9"}});
  for (const StackTrap& trap : plan_stack(row().name, asked).traps) {
    EXPECT_NE(find_cause(trap.cause), nullptr) << trap.cause;
    EXPECT_FALSE(trap.text.empty());
    EXPECT_FALSE(trap.remedy.empty()) << trap.text;
    EXPECT_THAT(trap.severity, testing::AnyOf("fail", "warn", "note"));
  }
}

TEST_P(EveryStack, SurvivesHostsThatSaidNothing) {
  EvidenceSet set = test::healthy_star(3);
  for (HostEvidence& host : set.hosts) {
    const std::string name = host.name;
    host = HostEvidence{};
    host.name = name;
  }
  set.stack = plan_stack(row().name, ask_stack(set));
  EXPECT_EQ(set.stack->ranks.size(), 3U);
  const Job job = job_of_stack(set);
  EXPECT_EQ(job.hosts.at(1).data, set.job.hosts.at(1).data);
  EXPECT_THAT(stack_lines(set), Not(IsEmpty()));
}

TEST_P(EveryStack, ComesBackFromItsJson) {
  EvidenceSet set = test::healthy_star(3);
  set.stack = plan_stack(row().name, question(set));
  set.job = job_of_stack(set);
  const Expected<EvidenceSet> again = parse_evidence(evidence_text(set));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(nlohmann::json(*again), nlohmann::json(set));
  EXPECT_EQ(stack_lines(*again), stack_lines(set));
}

// Names and values from outside reach the lines only in one piece.
TEST_P(EveryStack, HostileWordsStayWords) {
  EvidenceSet set = test::healthy_star(2);
  set.hosts[0].interfaces[1].name = "eth0\n\x1b[2J";
  set.hosts[0].names[0].name = "a\nb";
  StackQuestion asked = ask_stack(set);
  for (const StackVariable& variable : row().variables) {
    for (StackEnvironment& environment : asked.environment) {
      environment[variable.name] = ",,:-=^\n\xff[[[";
    }
  }
  set.stack = plan_stack(row().name, asked);
  for (const std::string& line : stack_lines(shown_evidence(set))) {
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryStack, testing::Range(size_t{0}, stack_table().size()),
                         [](const testing::TestParamInfo<size_t>& row) {
                           std::string name = stack_table().at(row.param).name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(StackTable, IsSortedByName) {
  for (size_t i = 1; i < stack_table().size(); ++i) {
    EXPECT_LT(std::string(stack_table()[i - 1].name), std::string(stack_table()[i].name));
  }
  EXPECT_EQ(find_stack("ring"), nullptr);
}

TEST(StackDrift, NamesTheRankThatDiffers) {
  const EvidenceSet set = test::healthy_star(3);
  StackQuestion asked = ask_stack(set, {{"MCCL_CHUNK_BYTES", "4194304"}});
  asked.environment[1]["MCCL_CHUNK_BYTES"] = "16777216";
  EXPECT_THAT(trap_words(plan_stack("mccl", asked)), Contains("config.mismatch fail mini2"));
}

TEST(StackSize, OneRankIsAWorldOfItsOwn) {
  const EvidenceSet set = test::healthy_star(2);
  EXPECT_THAT(trap_words(plan_stack("torch-gloo", ask_stack(set, {{"WORLD_SIZE", "1"}}))),
              Contains("stack.one_rank fail mini1"));
  EXPECT_THAT(trap_words(plan_stack("torch-gloo", ask_stack(set, {{"WORLD_SIZE", "3"}}))),
              Contains("config.mismatch fail mini1"));
  EXPECT_THAT(trap_words(plan_stack("torch-gloo", ask_stack(set, {{"WORLD_SIZE", "2"}}))),
              IsEmpty());
}

TEST(StackShell, VariablesThatDoNotTravelAreNamed) {
  const EvidenceSet set = test::healthy_star(2);
  StackQuestion asked = ask_stack(set);
  asked.shell = {{"GLOO_SOCKET_IFNAME", "eth1"}};
  EXPECT_THAT(plan_stack("torch-gloo", asked).remarks,
              Contains(HasSubstr("GLOO_SOCKET_IFNAME is set in this shell")));
  asked.environment[0]["GLOO_SOCKET_IFNAME"] = "eth1";
  EXPECT_THAT(plan_stack("torch-gloo", asked).remarks,
              Not(Contains(HasSubstr("GLOO_SOCKET_IFNAME is set in this shell"))));
}

TEST(StackVersion, AnotherOneThanTheModelsIsNamed) {
  StackPlan plan;
  plan.installed = {{"a", "4.1.4"}, {"b", "5.0.3"}};
  note_versions(*find_stack("openmpi"), plan);
  EXPECT_THAT(plan.remarks, testing::ElementsAre(HasSubstr("b has version 5.0.3")));
}

TEST(StackVersion, IsTheFirstThingThatLooksLikeOne) {
  EXPECT_EQ(version_in("mpirun (Open MPI) 4.1.4\n\nReport bugs"), "4.1.4");
  EXPECT_EQ(version_in("HYDRA build details:\n    Version:   4.0.2\n"), "4.0.2");
  EXPECT_EQ(version_in("2.9.1+cu128"), "2.9.1");
  EXPECT_EQ(version_in("no digits, 7 only"), "");
  EXPECT_EQ(version_in("ends in 4."), "");
}

}  // namespace
}  // namespace plumbline
