#include <gmock/gmock.h>

#include "core/json.h"
#include "evidence_builder.h"
#include "probes/gather/gather.h"
#include "tests/support/agents.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Agents of a star whose kernels give up on whoever they are asked for; what they were asked.
class Settle : public testing::Test {
 protected:
  Settle() {
    context_.evidence = test::healthy_star(3);
    for (PairEvidence& pair : context_.evidence.pairs) pair.neighbour->method = "kernel";
    for (const HostEvidence& host : context_.evidence.hosts) {
      const std::string name = host.name;
      const auto neighbour = [this, name](const nlohmann::json& params, const AgentCall&) {
        return give_up(name, params);
      };
      const auto counters = [this, name](const nlohmann::json&, const AgentCall&) {
        return count(name);
      };
      agents_.push_back(
          make_in_process_agent(name, {{"neighbour", "", neighbour}, {"counters", "", counters}}));
      context_.agents.push_back(agents_.back().get());
    }
  }
  Expected<nlohmann::json> give_up(const std::string& name, const nlohmann::json& params) {
    NeighbourProbe probe;
    probe.dev = params.at("interface");
    probe.method = "kernel";
    probe.kernel_state = "FAILED";
    const std::string to = params.at("to_ip");
    const std::lock_guard lock(mutex_);
    asked_.push_back(name + " " + to + " " + params.at("timeout_ms").dump());
    return nlohmann::json(probe);
  }
  // Three packets more at the second reading of mini1, seven of the others.
  Expected<nlohmann::json> count(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const int64_t now = ++reads_[name] == 1 ? 100 : name == "mini1" ? 103 : 107;
    nlohmann::json out;
    out["if.eth1.tx_packets"] = now;
    out["if.eth1.rx_packets"] = now + 1;
    return out;
  }
  NeighbourProbe& probe(const std::string& from, const std::string& to) {
    return *test::pair(context_.evidence, from, to).neighbour;
  }
  // As after the first, short look.
  void undecided(const std::string& from, const std::string& to, const std::string& state) {
    probe(from, to).macs.clear();
    probe(from, to).kernel_mac = state == "INCOMPLETE" ? "" : "02:00:00:00:00:01";
    probe(from, to).kernel_state = state;
    probe(from, to).error = "Operation not permitted";
  }
  std::vector<std::string> asked() {
    settle_neighbours(context_);
    std::sort(asked_.begin(), asked_.end());
    return asked_;
  }

  ProbeContext context_;
  std::vector<std::unique_ptr<HostAgent>> agents_;
  std::mutex mutex_;
  std::vector<std::string> asked_;
  std::map<std::string, int> reads_;  // of counters
};

TEST_F(Settle, AsksAgainWhereTheKernelHadNotGivenUp) {
  test::silence(context_.evidence, "mini1", "mini2");
  undecided("mini1", "mini2", "INCOMPLETE");
  test::pair(context_.evidence, "mini2", "mini1").neighbour.reset();
  EXPECT_THAT(asked(), ElementsAre("mini1 10.10.0.2 3500"));
  EXPECT_EQ(probe("mini1", "mini2").kernel_state, "FAILED");
  EXPECT_EQ(probe("mini1", "mini2").error, "");
}

TEST_F(Settle, AnOldEntryIsGivenTheTimeToBeFoundWrong) {
  test::silence(context_.evidence, "mini1", "mini2");
  undecided("mini1", "mini2", "DELAY");
  undecided("mini2", "mini1", "PROBE");
  EXPECT_THAT(asked(), ElementsAre("mini1 10.10.0.2 8500", "mini2 10.10.0.1 8500"));
}

TEST_F(Settle, ThePeersOwnQuestionTellsEnoughOfAnOldEntry) {
  test::silence(context_.evidence, "mini1", "mini2");
  undecided("mini1", "mini2", "DELAY");  // mini2 has resolved mini1 a moment ago
  EXPECT_THAT(asked(), IsEmpty());
}

// Matrix, seed 35, arp_dropped in a mesh: a filter at the asker dropped the answers, and the other
// end was named.
TEST_F(Settle, WhereThePeerKnowsUsTheCardsAreCounted) {
  test::silence(context_.evidence, "mini1", "mini2");
  undecided("mini1", "mini2", "INCOMPLETE");
  undecided("mini2", "mini1", "DELAY");  // by the question of mini1
  EXPECT_THAT(asked(), ElementsAre("mini1 10.10.0.2 3500", "mini1 10.10.0.2 3500"));
  const NeighbourProbe& found = probe("mini1", "mini2");
  EXPECT_EQ(found.asker, (std::map<std::string, int64_t>{{"rx_packets", 3}, {"tx_packets", 3}}));
  EXPECT_EQ(found.asked, (std::map<std::string, int64_t>{{"rx_packets", 7}, {"tx_packets", 7}}));
  EXPECT_TRUE(probe("mini2", "mini1").asker.empty());
  EXPECT_EQ(reads_, (std::map<std::string, int>{{"mini1", 2}, {"mini2", 2}}));
}

TEST_F(Settle, WhereNeitherKnowsTheOtherNothingIsCounted) {
  test::silence(context_.evidence, "mini1", "mini2");
  undecided("mini1", "mini2", "INCOMPLETE");
  undecided("mini2", "mini1", "INCOMPLETE");
  EXPECT_THAT(asked(), ElementsAre("mini1 10.10.0.2 3500", "mini2 10.10.0.1 3500"));
  EXPECT_TRUE(probe("mini1", "mini2").asker.empty());
  EXPECT_TRUE(reads_.empty());
}

TEST_F(Settle, NobodyIsAskedForWhatIsKnown) {
  undecided("mini1", "mini2", "INCOMPLETE");  // and yet it works
  test::silence(context_.evidence, "mini1", "mini3");
  undecided("mini3", "mini1", "INCOMPLETE");
  for (PortTry& attempt : test::pair(context_.evidence, "mini3", "mini1").ports) {
    attempt.half_open = true;  // its packets arrive
  }
  undecided("mini1", "mini3", "INCOMPLETE");
  probe("mini1", "mini3").method = "arp";  // asked by ourselves
  test::silence(context_.evidence, "mini2", "mini3");
  undecided("mini2", "mini3", "INCOMPLETE");
  probe("mini2", "mini3").on_link = false;
  EXPECT_THAT(asked(), IsEmpty());
}

}  // namespace
}  // namespace plumbline
