// The requests as the coordinator asks them, through an agent of this process.
#include <gmock/gmock.h>

#include "actions/support.h"
#include "core/clock.h"
#include "core/diagnosis/trace_summary.h"
#include "probes/actions/actions.h"
#include "probes/evidence.h"
#include "tests/support/agents.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

class Requests : public testing::Test {
 protected:
  Json ask(const std::string& request, const Json& params, int64_t ms = 10'000) {
    auto reply = call(*agent_, request, params, Deadline::after_ms(ms));
    if (!reply) return Json{{"error", reply.error()}};
    return *reply;
  }
  int listen(const std::string& id) {
    const int port = test::free_port();
    const Json reply = ask(
        "listen",
        {{"id", id}, {"addresses", {{{"ip", "127.0.0.1"}, {"interface", ""}}}}, {"ports", {port}}});
    EXPECT_EQ(reply["ports"][0]["listener"], "up") << reply;
    return port;
  }
  static Json to(int port) {
    return {{"from_ip", "127.0.0.1"}, {"interface", ""}, {"to_ip", "127.0.0.1"}, {"port", port}};
  }

  std::unique_ptr<AgentSession> session_ = std::make_unique<AgentSession>();
  std::unique_ptr<HostAgent> agent_ = make_in_process_agent("h", session_->requests());
};

TEST_F(Requests, ListenConnectListened) {
  const int port = listen("x");
  Json params = to(0);
  params["ports"] = {port};
  params["nonce"] = "abc";
  params["timeout_ms"] = 1000;
  const Json tried = ask("connect", params);
  ASSERT_EQ(tried["ports"].size(), 1u) << tried;
  EXPECT_EQ(tried["ports"][0]["answer"], "ours");
  EXPECT_EQ(tried["ports"][0].get<PortTry>().result, "connected");
  EXPECT_GT(tried["ports"][0]["source_port"], 0);
  const Json heard = ask("listened", {{"id", "x"}});
  EXPECT_EQ(heard["accepted"][0]["nonce"], "abc");
  EXPECT_EQ(heard["accepted"][0]["peer_port"], tried["ports"][0]["source_port"]);
  EXPECT_TRUE(heard["half_open"].is_array());
  EXPECT_TRUE(heard["datagrams"].is_array());
  EXPECT_FALSE(ask("unlisten", {{"id", "x"}}).contains("error"));
  EXPECT_EQ(ask("connect", params)["ports"][0]["result"], "refused");
}

TEST_F(Requests, TrafficOfAllKinds) {
  const int port = listen("x");
  Json params = to(port);
  params["kind"] = "one_way";
  params["duration_ms"] = 50;
  EXPECT_GT(ask("stream", params).get<StreamEvidence>().bytes, 0);
  params["count"] = 5;
  EXPECT_EQ(ask("round_trips", params)["round_trips_ns"].size(), 5u);
  params["interface_mtu"] = 1500;
  params["transfer_bytes"] = 100'000;
  EXPECT_EQ(ask("mtu", params).get<MtuEvidence>().largest_delivered, 1500);
  params["attempts"] = 10;
  EXPECT_EQ(ask("burst", params)["attempts"], 10);
  EXPECT_TRUE(ask("counters", Json::object()).contains("tcp.out_segments"));
  EXPECT_GT(ask("memory", Json::object())["available_bytes"].get<uint64_t>(), 1u << 20);
  EXPECT_TRUE(ask("memory", Json::object())["machine"].is_string());
}

TEST_F(Requests, OneListenerServesManyAtOnce) {
  const int port = listen("x");
  std::vector<int64_t> tickets;
  Json params = to(port);
  params["kind"] = "two_way";
  params["duration_ms"] = 100;
  for (int i = 0; i < 8; ++i) {
    tickets.push_back(agent_->ask("stream", params, Deadline::after_ms(20'000)));
  }
  for (const int64_t ticket : tickets) {
    const auto reply = agent_->reply(ticket);
    ASSERT_TRUE(reply.has_value()) << reply.error().message();
    EXPECT_EQ(reply->get<StreamEvidence>().error, "");
  }
}

TEST_F(Requests, WrongParametersAreAnswered) {
  for (const auto& [request, params] : std::vector<std::pair<std::string, Json>>{
           {"listen", Json::object()},
           {"listen", {{"id", 7}, {"addresses", "x"}, {"ports", {1}}}},
           {"listen", nullptr},
           {"listened", {{"id", "unknown"}}},
           {"unlisten", {{"id", "unknown"}}},
           {"connect", {{"to_ip", "127.0.0.1"}}},
           {"connect", {{"to_ip", "x"}, {"ports", {1}}}},
           {"connect", {{"to_ip", "127.0.0.1"}, {"ports", {1}}, {"nonce", "a b\n"}}},
           {"connect", {{"to_ip", "127.0.0.1"}, {"ports", std::vector<int>(5000, 1)}}},
           {"stream", {{"to_ip", "127.0.0.1"}, {"port", 99999}}},
           {"route", {{"to_ip", ""}}},
           {"neighbour", {{"duplicate", true}}},
           {"capture.stop", {{"id", "unknown"}}},
           {"capture.read", {{"id", "unknown"}}},
           {"datagrams.open", Json::object()},
           {"datagrams.open", {{"id", "x"}, {"ip", "nowhere"}}},
           {"datagrams.send", {{"to_ip", "127.0.0.1"}, {"port", 99999}, {"token", "t"}}},
           {"datagrams.send", {{"to_ip", "127.0.0.1"}, {"port", 9}}},
           {"datagrams.close", {{"id", "unknown"}}},
           {"command", {{"command", Json::array()}}},
           {"command", {{"command", "ls"}}},
           {"nonsense", Json::object()}}) {
    EXPECT_TRUE(ask(request, params).contains("error")) << request << " " << params;
  }
}

TEST_F(Requests, Command) {
  Json out = ask("command", {{"label", "l"}, {"command", {"echo", "a  b", "c"}}});
  EXPECT_EQ(out.get<CommandEvidence>().out, "a  b c\n");
  EXPECT_EQ(out["command"], "echo a  b c");
  EXPECT_EQ(out["label"], "l");
  out = ask("command", {{"command", {"sh", "-c", "echo wrong >&2; exit 3"}}});
  EXPECT_EQ(out["status"], 3);
  EXPECT_EQ(out["out"], "wrong\n");
  out = ask("command", {{"command", {"no-such-program-anywhere"}}});
  EXPECT_THAT(out["error"].get<std::string>(), testing::HasSubstr("no-such-program-anywhere"));
  out = ask("command", {{"command", {"sh", "-c", "yes | head -c 300000"}}});
  EXPECT_EQ(out["out"].get<std::string>().size(), 64u << 10);
  out = ask("command", {{"command", {"printf", "\\377\\200"}}});
  EXPECT_EQ(out["out"], "??");
  const int64_t begin = monotonic_ns();
  out = ask("command", {{"command", {"sleep", "30"}}, {"timeout_ms", 200}});
  EXPECT_NE(out["error"], "");
  EXPECT_LT(monotonic_ns() - begin, 5 * kSecond);
}

TEST_F(Requests, Snapshot) {
  const Json out = ask("snapshot", {{"host", "me"}});
  ASSERT_FALSE(out.contains("error") && out["error"].is_object()) << out;
  EXPECT_EQ(out.get<HostEvidence>().name, "me");
}

TEST_F(Requests, CaptureOrItsReason) {
  const int port = listen("x");
  const Json started = ask("capture.start", {{"id", "c"},
                                             {"own", {"127.0.0.1"}},
                                             {"peers", {"127.0.0.1"}},
                                             {"ports", {port}},
                                             {"snap_bytes", 128}});
  if (!started.value("running", false)) {
    EXPECT_NE(started.value("reason", ""), "");
    GTEST_SKIP() << started.value("reason", "");
  }
  EXPECT_TRUE(ask("capture.start", {{"id", "c"}}).contains("error"));
  Json params = to(0);
  params["ports"] = {port, test::free_port()};
  ask("connect", params);
  const Json stopped = ask("capture.stop", {{"id", "c"}, {"settle_ms", 50}, {"keep", true}});
  ASSERT_TRUE(stopped.contains("summary")) << stopped;
  EXPECT_GE(stopped["packets"], 7);
  EXPECT_EQ(stopped["cut"], false);
  const auto summary = stopped["summary"].get<TraceSummary>();
  EXPECT_EQ(summary.format, "pcap-ns");
  ASSERT_EQ(summary.flows.size(), 1u);
  EXPECT_EQ(summary.flows[0].handshake, "complete");
  EXPECT_EQ(summary.flows[0].b_port, port);
  // The file in small pieces is as long as it was said.
  size_t size = 0;
  for (bool end = false; !end;) {
    const Json piece = ask("capture.read", {{"id", "c"}, {"offset", size}, {"bytes", 300}});
    ASSERT_TRUE(piece.contains("base64")) << piece;
    const auto text = piece["base64"].get<std::string>();
    size += text.size() / 4 * 3;
    for (auto it = text.rbegin(); it != text.rend() && *it == '='; ++it) --size;
    end = piece["end"];
    ASSERT_LE(text.size(), 400u);
  }
  EXPECT_EQ(size, stopped["bytes"]);
}

TEST_F(Requests, CapturesAreBounded) {
  int running = 0;
  std::string reason;
  for (int i = 0; i < 20; ++i) {
    const Json reply = ask("capture.start", {{"id", std::to_string(i)}});
    running += reply.value("running", false) ? 1 : 0;
    reason = reply.value("reason", "");
  }
  EXPECT_LE(running, 16);
  EXPECT_NE(reason, "");
}

TEST_F(Requests, EndWithTheSession) {
  const int port = listen("x");
  ask("capture.start", {{"id", "c"}});
  session_.reset();
  EXPECT_TRUE(ask("listened", {{"id", "x"}}).contains("error"));
  EXPECT_TRUE(ask("capture.start", {{"id", "d"}}).contains("error"));
  Json params = to(0);
  params["ports"] = {port};
  EXPECT_EQ(ask("connect", params)["ports"][0]["result"], "refused");
}

}  // namespace
}  // namespace plumbline
