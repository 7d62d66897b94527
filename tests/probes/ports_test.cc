#include "probes/ports.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "core/requirement.h"
#include "probe_helpers.h"
#include "probes/tcp_connect.h"
#include "transport/socket.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::pair<int, int> kEphemeral = {32768, 60999};

// A listener on a port that the system chose.
struct Held {
  Fd listener;
  int port = 0;
};
Held hold_a_port(const char* ip = "127.0.0.1") {
  Held held;
  held.listener = listen_on(make_socket_address(ip, 0).value(), {}).value();
  held.port = local_address(held.listener.get()).port();
  return held;
}

TEST(PortPlan, SoundPlanPasses) {
  const ProbeResult result = judge_port_plan("h", {29600, 4, 29500}, kEphemeral);
  test::expect_well_formed(result);
  EXPECT_TRUE(result.findings.empty());
  for (const Check& check : result.checks) EXPECT_EQ(check.outcome, CheckOutcome::kPass);
}

TEST(PortPlan, Collisions) {
  const PortPlan bad[] = {
      {29500, 1, 29500},  // equal
      {29498, 4, 29500},  // inside
      {29497, 4, 29500},  // at the end
      {65534, 4, 29500},  // beyond the range
      {0, 2, 29500},     {-5, 2, 29500},    {70000, 2, 29500},
      {29600, 2, 0},     {29600, 2, 70000}, {65500, 36, 65535},  // master is the last port of all
  };
  for (const PortPlan& plan : bad) {
    const ProbeResult result = judge_port_plan("h", plan, kEphemeral);
    test::expect_well_formed(result);
    ASSERT_EQ(test::causes(result), "tcp.port_collision ") << plan.base << " " << plan.master;
    EXPECT_THAT(result.findings[0].remedy, HasSubstr("--"));
  }
  for (const PortPlan& plan : {PortPlan{29501, 4, 29500}, {29496, 4, 29500}, {65532, 4, 29500}}) {
    EXPECT_EQ(test::causes(judge_port_plan("h", plan, kEphemeral)), "") << plan.base;
  }
}

TEST(PortPlan, RemedyOfACollisionIsASoundPlan) {
  for (const PortPlan& plan : {PortPlan{29500, 4, 29500}, {65534, 4, 29500}, {65500, 36, 65535}}) {
    const ProbeResult result = judge_port_plan("h", plan, kEphemeral);
    const std::string remedy = result.findings.at(0).remedy;
    ASSERT_EQ(remedy.rfind("--port-base ", 0), 0u) << remedy;
    const int base = std::stoi(remedy.substr(12));
    EXPECT_TRUE(judge_port_plan("h", {base, plan.ranks, plan.master}, kEphemeral).findings.empty())
        << remedy;
  }
}

TEST(PortPlan, EphemeralOverlapWarns) {
  const ProbeResult result = judge_port_plan("h", {40000, 2, 29500}, kEphemeral);
  EXPECT_TRUE(result.findings.empty());
  const Check check = test::check_ending(result, "#ephemeral");
  EXPECT_EQ(check.outcome, CheckOutcome::kWarn);
  EXPECT_THAT(check.reason, HasSubstr("40000-40001"));
  EXPECT_EQ(
      test::check_ending(judge_port_plan("h", {40000, 2, 29500}, {0, 0}), "#ephemeral").outcome,
      CheckOutcome::kSkipped);
}

TEST(PortPlan, ReservedPortsAreNotEphemeral) {
  const ProbeResult all = judge_port_plan("h", {40000, 2, 29500}, kEphemeral, {40000, 40001});
  EXPECT_EQ(test::check_ending(all, "#ephemeral").outcome, CheckOutcome::kPass);
  const ProbeResult one = judge_port_plan("h", {40000, 2, 29500}, kEphemeral, {40000});
  EXPECT_THAT(test::check_ending(one, "#ephemeral").reason, HasSubstr("40001 in"));
}

TEST(PortPlan, AllPorts) {
  EXPECT_THAT((PortPlan{10, 3, 5}.all_ports()), ElementsAre(5, 10, 11, 12));
  EXPECT_THAT((PortPlan{10, 2, 11}.all_ports()), ElementsAre(10, 11));
  EXPECT_THAT((PortPlan{65535, 3, 0}.all_ports()), ElementsAre(65535));
  EXPECT_THAT((PortPlan{-1, 3, 70000}.all_ports()), ElementsAre(1));
}

PortState held_state(int port, const std::string& owner) {
  PortState state;
  state.port = port;
  state.owner = owner;
  state.error.code = ErrorCode::kBusy;
  return state;
}
PortState free_state(int port) {
  PortState state;
  state.port = port;
  state.free = true;
  return state;
}

TEST(Ports, OneFindingPerOwner) {
  const ProbeResult result =
      judge_ports("h",
                  {held_state(1, "PID 7 (x)"), free_state(2), held_state(3, "PID 7 (x)"),
                   held_state(4, "PID 8 (y)"), held_state(5, "")},
                  "--port-base 20000");
  test::expect_well_formed(result);
  ASSERT_EQ(result.findings.size(), 3u);
  const auto seven =
      std::find_if(result.findings.begin(), result.findings.end(), [](const Finding& f) {
        return f.ports == std::vector<int>{1, 3};
      });
  ASSERT_NE(seven, result.findings.end());
  EXPECT_EQ(seven->port, std::nullopt);
  EXPECT_EQ(seven->evidence.size(), 2u);
  EXPECT_THAT(seven->evidence[0].text, HasSubstr("PID 7 (x)"));
  EXPECT_THAT(seven->remedy, HasSubstr("--port-base 20000"));
}

TEST(Ports, AnotherErrorIsUnknownNotHeld) {
  PortState state = held_state(1, "");
  state.error = {ErrorCode::kConfig, "listen on 10.9.9.9:1", EADDRNOTAVAIL, "", ""};
  const ProbeResult result = judge_ports("h", {state}, "");
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(result.checks[0].outcome, CheckOutcome::kUnknown);
}

TEST(Ports, HeldPortIsFoundAndNamed) {
  const Held held = hold_a_port();
  OptionSet options;
  ProbeContext context = test::local_context(2, options);
  context.port_base = held.port;
  context.ranks = 1;
  context.facts.ephemeral_ports = {0, 0};
  const ProbeResult result = probe_ports(context);
  test::expect_well_formed(result);
  const Finding* finding = test::find_cause(result, "tcp.port_in_use");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->ports, Contains(held.port));
  const std::vector<const char*> linux = {"linux"};
  if (!unmet(linux)) {
    EXPECT_THAT(finding->evidence[0].text, HasSubstr("PID " + std::to_string(getpid())));
    EXPECT_THAT(finding->evidence[0].text, HasSubstr("tests_probes"));
  }
  EXPECT_EQ(test::check_ending(result, "ports/local1#plan").outcome, CheckOutcome::kSkipped);
}

TEST(Ports, ListenerOnEveryAddressHoldsThePortToo) {
  const Held held = hold_a_port("0.0.0.0");
  const auto states = try_ports({test::address("127.0.0.1", 8)}, {held.port});
  ASSERT_EQ(states.size(), 1u);
  EXPECT_FALSE(states[0].free);
  EXPECT_EQ(states[0].error.code, ErrorCode::kBusy);
}

TEST(Ports, AddressOfAnotherMachineIsNotBusy) {
  const auto states = try_ports({test::address("203.0.113.7", 24)}, {29600});
  EXPECT_FALSE(states.at(0).free);
  EXPECT_NE(states[0].error.code, ErrorCode::kBusy);
  EXPECT_EQ(judge_ports("h", states, "").checks[0].outcome, CheckOutcome::kUnknown);
}

TEST(Ports, FreeWindowIsFreeAndApart) {
  const std::vector<NicAddress> here = {test::address("127.0.0.1", 8)};
  const int base = find_free_window(here, 4, 29500, kEphemeral).value();
  const PortPlan plan = {base, 4, 29500};
  EXPECT_TRUE(judge_port_plan("h", plan, kEphemeral).findings.empty());
  for (const int port : plan.window()) {
    EXPECT_LT(port, kEphemeral.first);
    EXPECT_TRUE(
        listen_on(make_socket_address("127.0.0.1", static_cast<uint16_t>(port)).value(), {}))
        << port;
  }
  EXPECT_FALSE(find_free_window(here, 0, 29500, kEphemeral));
  EXPECT_FALSE(find_free_window(here, 100'000, 29500, kEphemeral));
  EXPECT_FALSE(find_free_window(here, 4, 29500, {1, 65535})) << "all ports are ephemeral";
  EXPECT_FALSE(find_free_window({test::address("203.0.113.7", 24)}, 4, 29500, kEphemeral));
}

TEST(Ports, SuggestionLeavesTheHeldMasterPort) {
  OptionSet options;
  const ProbeContext context = test::local_context(2, options);
  EXPECT_THAT(suggest_ports(context, context.hosts[0].data, true), HasSubstr(" --master-port "));
  EXPECT_THAT(suggest_ports(context, context.hosts[0].data, false),
              testing::Not(HasSubstr("master")));
}

}  // namespace
}  // namespace plumbline
