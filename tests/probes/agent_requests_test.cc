// What an agent is asked and answers, as it travels: the words of docs/agent_protocol.md.
#include "probes/agent_requests.h"

#include <gmock/gmock.h>

#include "core/json.h"
#include "tests/support/agents.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

// What reaches an agent of this request, and what its asker reads of `reply`.
template <typename Request>
Expected<typename Request::Reply> exchange(const Request& request, const Json& reply, Json& seen) {
  const auto agent = make_in_process_agent(
      "h", {{Request::kName, "", [&](const Json& params, const AgentCall&) -> Expected<Json> {
               seen = params;
               return reply;
             }}});
  return ask_agent(*agent, request, Deadline::after_ms(10'000));
}

TEST(AgentRequests, TravelInTheWordsOfTheProtocol) {
  Json seen;
  AskStream stream{{{"10.0.0.1", "eth0", "10.0.0.2"}, 29600}, {"paced", 300, 0, 2500}};
  StreamEvidence told;
  told.bytes = 7;
  const auto read = exchange(stream, Json(told), seen);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->bytes, 7);
  EXPECT_EQ(seen, Json({{"from_ip", "10.0.0.1"},
                        {"interface", "eth0"},
                        {"to_ip", "10.0.0.2"},
                        {"port", 29600},
                        {"kind", "paced"},
                        {"duration_ms", 300},
                        {"bytes", 0},
                        {"rate_per_s", 2500}}));
  const auto cores = exchange(AskCores{}, {{"cores", 8}}, seen);
  ASSERT_TRUE(cores);
  EXPECT_EQ(cores->cores, 8);
  EXPECT_EQ(seen, Json::object());
}

TEST(AgentRequests, WhatARequestLacksHasItsDefaultOrIsRefused) {
  AskSnapshot seen;
  const auto agent = make_in_process_agent(
      "h", {AgentWire<AskSnapshot>::row("",
                                        [&](const AskSnapshot& asked, const AgentCall&) {
                                          seen = asked;
                                          return Expected<HostEvidence>(HostEvidence{});
                                        }),
            AgentWire<AskUnlisten>::row("", [](const AskUnlisten&, const AgentCall&) {
              return Expected<NothingSaid>(NothingSaid{});
            })});
  const auto call = [&](const char* request, const Json& params) {
    return plumbline::call(*agent, request, params, Deadline::after_ms(10'000));
  };
  EXPECT_TRUE(call("snapshot", {{"host", "a"}, {"ports", {1, 2}}, {"deep", true}}));
  EXPECT_EQ(seen.host, "a");
  EXPECT_EQ(seen.ports, (std::vector<int>{1, 2}));
  EXPECT_TRUE(seen.deep);
  EXPECT_TRUE(call("snapshot", Json::object()));
  EXPECT_TRUE(seen.ports.empty());
  EXPECT_FALSE(call("snapshot", {{"ports", "all"}}));
  EXPECT_TRUE(call("unlisten", {{"id", "x"}}));
  const auto nameless = call("unlisten", Json::object());
  ASSERT_FALSE(nameless);
  EXPECT_EQ(nameless.error().code, ErrorCode::kProtocol);
}

TEST(AgentRequests, AnswersThatMakeNoSenseAreErrors) {
  Json seen;
  const auto lacking = exchange(AskDatagramsOpen{}, {{"port", 9}}, seen);
  ASSERT_FALSE(lacking);
  EXPECT_EQ(lacking.error().code, ErrorCode::kWrongData);
  EXPECT_THAT(lacking.error().message(), HasSubstr("'datagrams.open' makes no sense"));
  EXPECT_FALSE(exchange(AskListen{}, {{"ports", {{{"ip", "10.0.0.1"}}}}}, seen));
  EXPECT_FALSE(exchange(AskMtu{}, {{"interface_mtu", -1}}, seen));
  EXPECT_FALSE(exchange(AskPing{}, "fine", seen));
  const auto counters = exchange(AskCounters{}, {{"tcp.out_segments", 7}, {"mad", -1}}, seen);
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->counts, (std::map<std::string, int64_t>{{"tcp.out_segments", 7}}));
}

}  // namespace
}  // namespace plumbline
