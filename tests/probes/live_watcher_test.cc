// Looking at several agents once in a while: one that hangs or dies costs the others nothing. And
// what an agent tells for a live view.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "core/clock.h"
#include "core/json.h"
#include "probes/actions/actions.h"
#include "probes/gather/host_watcher.h"
#include "tests/support/agents.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

// An agent that answers `watch` with what this gives.
std::unique_ptr<HostAgent> agent_that(std::function<Expected<Json>(const AgentCall&)> watch) {
  return make_in_process_agent(
      "h", {{"watch", "", [watch = std::move(watch)](const Json& params, const AgentCall& call) {
               EXPECT_TRUE(params.at("live").get<bool>());
               return watch(call);
             }}});
}

Json answer() {
  WatchState state;
  state.at_ns = monotonic_ns();
  return state;
}

LiveWatched watched(const std::string& name, HostAgent* agent) {
  LiveWatched out;
  out.host.name = name;
  out.host.agent = agent;
  if (agent == nullptr) out.host.unreachable = "ssh: refused";
  return out;
}

// Until the condition holds for what is seen.
template <typename Condition>
bool eventually(LiveWatcher& watcher, std::vector<LiveWatcher::Seen>& seen, Condition condition) {
  const Deadline deadline = Deadline::after_ms(20'000);
  while (!deadline.passed()) {
    seen = watcher.take();
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TEST(LiveWatcher, AHostThatHangsHoldsUpNoOther) {
  std::atomic<bool> hangs{true};
  const auto sound = agent_that([](const AgentCall&) -> Expected<Json> { return answer(); });
  const auto hung = agent_that([&](const AgentCall& call) -> Expected<Json> {
    while (hangs && !call.ending->load()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return answer();
  });
  LiveWatcher watcher({watched("a", sound.get()), watched("b", hung.get()), watched("c", nullptr)});
  watcher.start(10 * kMillisecond);
  std::vector<LiveWatcher::Seen> seen;
  ASSERT_TRUE(eventually(watcher, seen, [&] { return seen[0].looks >= 20; }));
  EXPECT_LT(seen[1].looks, seen[0].looks);
  EXPECT_EQ(seen[0].host.lost, "");
  EXPECT_EQ(seen[2].host.name, "c");
  EXPECT_EQ(seen[2].host.lost, "ssh: refused");
  hangs = false;
  EXPECT_TRUE(
      eventually(watcher, seen, [&] { return seen[1].looks >= 2 && seen[1].host.lost.empty(); }));
}

TEST(LiveWatcher, AnAgentThatDiedIsStartedAgain) {
  const Error died{ErrorCode::kPeerLost, "the agent of h ended", 0, "", "rank.agent_lost"};
  const auto dead = agent_that([&](const AgentCall&) -> Expected<Json> { return fail(died); });
  std::atomic<int> starts{0};
  LiveWatched host = watched("a", dead.get());
  host.start_again = [&] {
    ++starts;
    return agent_that([](const AgentCall&) -> Expected<Json> { return answer(); });
  };
  LiveWatcher watcher({host});
  watcher.start(5 * kMillisecond);
  std::vector<LiveWatcher::Seen> seen;
  std::vector<std::string> told;
  ASSERT_TRUE(eventually(watcher, seen, [&] {
    for (const HostChange& change : seen[0].host.changes) told.push_back(change.text);
    return seen[0].looks >= 5;
  }));
  EXPECT_EQ(seen[0].host.lost, "");
  EXPECT_EQ(starts, 1);
  ASSERT_EQ(told.size(), 2u) << "none is lost, none comes twice";
  EXPECT_THAT(told[0], HasSubstr("cannot be observed: the agent of h ended"));
  EXPECT_EQ(told[1], "can be observed again");
}

TEST(LiveWatcher, AnAnswerThatMissesItsTimeIsNoLostAgent) {
  const Error late{ErrorCode::kTimeout, "no answer within 2 s", 0, "", ""};
  const auto slow = agent_that([&](const AgentCall&) -> Expected<Json> { return fail(late); });
  LiveWatched host = watched("a", slow.get());
  std::atomic<int> starts{0};
  host.start_again = [&]() -> std::unique_ptr<HostAgent> {
    ++starts;
    return nullptr;
  };
  LiveWatcher watcher({host});
  watcher.start(5 * kMillisecond);
  std::vector<LiveWatcher::Seen> seen;
  ASSERT_TRUE(eventually(watcher, seen, [&] { return seen[0].looks >= 5; }));
  EXPECT_THAT(seen[0].host.lost, HasSubstr("no answer within 2 s"));
  EXPECT_EQ(starts, 0);
}

TEST(LiveWatcher, NonsenseIsAHostThatCannotBeObserved) {
  const auto agent = agent_that([](const AgentCall&) -> Expected<Json> {
    return Json{{"counters", {{"if.en1.rx_bytes", 1e300}}}};
  });
  LiveWatcher watcher({watched("a", agent.get())});
  watcher.start(5 * kMillisecond);
  std::vector<LiveWatcher::Seen> seen;
  ASSERT_TRUE(eventually(watcher, seen, [&] { return seen[0].looks >= 2; }));
  EXPECT_THAT(seen[0].host.lost, HasSubstr("makes no sense"));
}

TEST(LiveWatcher, AnAgentTellsTrafficAndNeighboursForALiveViewOnly) {
  AgentSession session;
  const auto agent = make_in_process_agent("h", session.requests());
  AskWatch asked{{{"me", "127.0.0.1", "127.0.0.1"}}};
  const auto plain = ask_agent(*agent, asked, Deadline::after_ms(5000));
  ASSERT_TRUE(plain) << plain.error().message();
  const WatchState& calm = *plain;
  EXPECT_EQ(calm.neighbours, std::nullopt);
  for (const auto& [name, value] : calm.counters) EXPECT_FALSE(is_live_counter(name)) << name;

  asked.live = true;
  const auto reply = ask_agent(*agent, asked, Deadline::after_ms(5000));
  ASSERT_TRUE(reply) << reply.error().message();
  const WatchState& live = *reply;
  EXPECT_GT(live.at_ns, calm.at_ns);
  ASSERT_FALSE(live.nics.empty());
#ifdef __linux__
  EXPECT_EQ(live.counters.count("if." + live.nics[0].name + ".rx_bytes"), 1u);
  EXPECT_EQ(live.counters.count("tcp.out_segments"), 1u);
  EXPECT_NE(live.neighbours, std::nullopt);
#endif
  for (const auto& [name, value] : live.counters) {
    EXPECT_TRUE(is_live_counter(name) || watched_counter(name) != nullptr) << name;
  }
  EXPECT_FALSE(call(*agent, "watch", {{"live", "yes"}}, Deadline::after_ms(5000)));
}

}  // namespace
}  // namespace plumbline
