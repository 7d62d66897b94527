// The hosts of a plan are asked what a model cannot know: whether a further network leads anywhere.
#include "probes/stacks/stack_gather.h"

#include <gmock/gmock.h>

#include "core/json.h"
#include "stacks/stack_builder.h"
#include "tests/support/agents.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two hosts with a second network beside that of the host file, and what answers in it.
class SecondNetwork : public testing::Test {
 protected:
  SecondNetwork() {
    context_.evidence = test::healthy_star(2);
    context_.evidence.pairs.clear();
    context_.deadline = Deadline::after_ms(60'000);
    int number = 0;
    for (HostEvidence& host : context_.evidence.hosts) {
      const std::string own = "10.20.0." + std::to_string(++number) + "/24";
      host.interfaces.push_back(test::make_nic("eth2", "02:00:00:00:02:01", {own}));
      host.interfaces.back().index = 20;
      add_agent(host);
    }
  }

  void add_agent(const HostEvidence& host) {
    const auto snapshot = [host](const nlohmann::json&, const AgentCall&) {
      return Expected<nlohmann::json>(host);
    };
    const auto echo = [this](const nlohmann::json& params, const AgentCall&) {
      PingEvidence out;
      out.sent = 5;
      const bool second = params.at("to_ip").get<std::string>().starts_with("10.20.");
      out.received = second && !echoes_ ? 0 : 5;
      if (second) ++asked_;
      return Expected<nlohmann::json>(out);
    };
    const auto neighbour = [this](const nlohmann::json&, const AgentCall&) {
      if (lost_) return Expected<nlohmann::json>(fail(ErrorCode::kTimeout, "no answer"));
      NeighbourProbe out;
      if (neighbours_) out.macs = {"02:00:00:00:02:02"};
      out.error = why_not_;
      return Expected<nlohmann::json>(out);
    };
    const auto nothing = [](const nlohmann::json&, const AgentCall&) {
      return Expected<nlohmann::json>(nlohmann::json::object());
    };
    agents_.push_back(make_in_process_agent(host.name, {{"snapshot", "", snapshot},
                                                        {"ping", "", echo},
                                                        {"neighbour", "", neighbour},
                                                        {"counters", "", nothing},
                                                        {"command", "", nothing}}));
    context_.agents.push_back(agents_.back().get());
  }

  std::vector<std::string> traps(const std::string& stack,
                                 const StackEnvironment& environment = {}) {
    const StackRow* row = find_stack(stack);
    plan_for_hosts(context_, *row, test::ask_stack(context_.evidence, environment));
    return test::trap_words(*context_.evidence.stack);
  }

  bool echoes_ = false, neighbours_ = false, lost_ = false;
  std::string why_not_;
  std::atomic<int> asked_{0};
  ProbeContext context_;
  std::vector<std::unique_ptr<HostAgent>> agents_;
};

TEST_F(SecondNetwork, ThatLeadsNowhereIsForetoldWhereTheStackUsesIt) {
  EXPECT_THAT(traps("openmpi"),
              ElementsAre("stack.interface fail mini1", "stack.interface fail mini2"));
  const StackTrap& trap = context_.evidence.stack->traps.at(0);
  EXPECT_THAT(trap.text, HasSubstr("mini1 gives its peers eth2 10.20.0.1, and from there"));
  EXPECT_THAT(trap.text, HasSubstr("mini2 (10.20.0.2) does not answer, not even as a neighbour"));
  EXPECT_EQ(trap.remedy, "set OMPI_MCA_btl_tcp_if_include=eth1 for the ranks on mini1");
}

TEST_F(SecondNetwork, ThatAnswersIsNoFault) {
  echoes_ = true;
  EXPECT_THAT(traps("openmpi"), IsEmpty());
  EXPECT_EQ(asked_, 2);
}

// A filter may take echoes, and the neighbour still be there.
TEST_F(SecondNetwork, ANeighbourThatAnswersIsEnough) {
  neighbours_ = true;
  EXPECT_THAT(traps("mpich"), IsEmpty());
}

TEST_F(SecondNetwork, WhereTheNeighbourCannotBeAskedItIsAWarning) {
  why_not_ = "Operation not permitted";
  EXPECT_THAT(traps("mpich"),
              ElementsAre("stack.interface warn mini1", "stack.interface warn mini2"));
}

// An agent that gives no answer has not said that nobody is there.
TEST_F(SecondNetwork, AnAnswerThatWasLostIsNoProof) {
  lost_ = true;
  EXPECT_THAT(traps("mpich"), IsEmpty());
}

TEST_F(SecondNetwork, ThatTheStackDoesNotUseIsNotTried) {
  EXPECT_THAT(traps("openmpi", {{"OMPI_MCA_btl_tcp_if_include", "eth1"}}), IsEmpty());
  EXPECT_EQ(asked_, 0);
}

}  // namespace
}  // namespace plumbline
