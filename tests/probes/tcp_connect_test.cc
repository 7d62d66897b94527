#include "probes/tcp_connect.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "core/requirement.h"
#include "probe_helpers.h"
#include "probes/dial.h"
#include "probes/ports.h"
#include "transport/socket.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

constexpr std::pair<int, int> kEphemeral = {32768, 60999};

// A window that nobody uses now; another test may still take it, so results say which port it was.
int free_window(int ranks, const std::string& ip = "127.0.0.1") {
  return find_free_window({test::address(ip, ip == "::1" ? 128 : 8)}, ranks, 29500, kEphemeral)
      .value();
}

ProbeContext context_of(const OptionSet& options, int hosts, int ranks) {
  ProbeContext context = test::local_context(hosts, options);
  context.ranks = ranks;
  context.port_base = free_window(ranks + 1);
  context.master_port = context.port_base + ranks;
  return context;
}

TEST(TcpConnect, EveryPortOfTheJobConnects) {
  OptionSet options;
  const ProbeContext context = context_of(options, 2, 3);
  const ProbeResult result = probe_tcp_connect(context);
  test::expect_well_formed(result);
  EXPECT_TRUE(result.findings.empty()) << test::causes(result);
  for (int port = context.port_base; port <= context.port_base + 3; ++port) {
    const Check check = test::check_ending(result, "local0>local1:" + std::to_string(port));
    EXPECT_EQ(check.outcome, CheckOutcome::kPass) << check.key << ": " << check.reason;
  }
  EXPECT_EQ(test::check_ending(result, "local1>local0").outcome, CheckOutcome::kSkipped)
      << "the same two addresses again";
}

TEST(TcpConnect, OneHostHasNobodyToConnectTo) {
  OptionSet options;
  EXPECT_TRUE(probe_tcp_connect(context_of(options, 1, 2)).checks.empty());
}

TEST(TcpConnect, Ipv6) {
  const std::vector<const char*> ipv6 = {"ipv6"};
  if (const auto reason = unmet(ipv6)) GTEST_SKIP() << *reason;
  if (!listen_on(make_socket_address("::1", 0).value(), {})) GTEST_SKIP() << "no ::1 here";
  const int port = free_window(1, "::1");
  const auto attempts =
      try_connect({"::1", ""}, {"::1", ""}, {port}, 5000, Deadline::after_ms(10'000));
  EXPECT_EQ(attempts.at(0).outcome, AttemptOutcome::kOpen);
}

TEST(TcpConnect, MorePortsThanOneBatch) {
  const int count = 150;
  const int base = free_window(count);
  std::vector<int> ports;
  for (int i = 0; i < count; ++i) ports.push_back(base + i);
  const auto attempts =
      try_connect({"127.0.0.1", ""}, {"127.0.0.1", ""}, ports, 10'000, Deadline::after_ms(30'000));
  ASSERT_EQ(attempts.size(), ports.size());
  for (const PortAttempt& attempt : attempts) {
    EXPECT_EQ(attempt.outcome, AttemptOutcome::kOpen)
        << attempt.port << ": " << attempt.error.message();
  }
}

TEST(TcpConnect, HeldPortIsNamedOnceWithThePortsProbe) {
  OptionSet options;
  ProbeContext context = context_of(options, 2, 2);
  const auto where =
      make_socket_address("127.0.0.1", static_cast<uint16_t>(context.port_base)).value();
  const Fd held = listen_on(where, {}).value();
  const ProbeResult result = run_probes(context, {"tcp.connect", "ports"});
  test::expect_well_formed(result);
  // Both probes run into it, on two hosts that are one machine: one root cause all the same.
  ASSERT_EQ(test::causes(result), "tcp.port_in_use ");
  const Finding& finding = result.findings[0];
  EXPECT_EQ(finding.host, "local0");
  EXPECT_EQ(finding.ports, std::vector<int>{context.port_base});
  EXPECT_EQ(finding.explains.size(), 2u);
  EXPECT_THAT(finding.remedy, HasSubstr("--port-base "));
  const Check check =
      test::check_ending(result, "local0>local1:" + std::to_string(context.port_base));
  EXPECT_EQ(check.outcome, CheckOutcome::kFail);
}

TEST(TcpConnect, FurtherPortsAreTriedAndBadOnesRefused) {
  OptionSet options;
  ProbeContext context = context_of(options, 2, 1);
  const int extra = free_window(1) + 500;
  context.params["ports"] = std::to_string(extra);
  EXPECT_EQ(test::check_ending(probe_tcp_connect(context), ":" + std::to_string(extra)).outcome,
            CheckOutcome::kPass);
  for (const auto& [name, value] : {std::pair{"ports", "70000"}, {"timeout", "soon"}}) {
    context.params = {{name, value}};
    const ProbeResult result = probe_tcp_connect(context);
    test::expect_well_formed(result);
    ASSERT_EQ(result.checks.size(), 2u);
    EXPECT_EQ(result.checks[0].outcome, CheckOutcome::kUnknown);
    EXPECT_THAT(result.checks[0].reason, HasSubstr(value));
  }
}

TEST(TcpConnect, AddressOfAnotherMachineIsUnknownNotBlocked) {
  OptionSet options;
  ProbeContext context = context_of(options, 2, 1);
  context.hosts[1].data = {test::address("203.0.113.7", 24)};
  context.hosts[0].data = {test::address("203.0.113.8", 24)};
  const ProbeResult result = probe_tcp_connect(context);
  test::expect_well_formed(result);
  EXPECT_TRUE(result.findings.empty()) << test::causes(result);
  for (const Check& check : result.checks) EXPECT_EQ(check.outcome, CheckOutcome::kUnknown);
}

TEST(TcpConnect, PassedDeadlineIsUnknown) {
  OptionSet options;
  ProbeContext context = context_of(options, 2, 1);
  context.deadline = Deadline::at_ns(0);
  const ProbeResult result = probe_tcp_connect(context);
  ASSERT_EQ(result.checks.size(), 2u);
  EXPECT_EQ(result.checks[0].outcome, CheckOutcome::kUnknown);
  const int port = free_window(1);
  EXPECT_EQ(try_connect({"127.0.0.1", ""}, {"127.0.0.1", ""}, {port}, 60'000, Deadline::at_ns(0))
                .at(0)
                .outcome,
            AttemptOutcome::kNoTime);
}

TEST(TcpConnect, StrangersOnTheListenerDoNotDisturb) {
  // Somebody who scans the port while it is tried: connects, sends nonsense, or nothing at all.
  const int port = free_window(1);
  const auto where = make_socket_address("127.0.0.1", static_cast<uint16_t>(port)).value();
  std::atomic<bool> stop{false};
  std::thread stranger([&] {
    while (!stop) {
      auto client = start_connect(where, nullptr, "", {});
      if (client)
        static_cast<void>(::send(client->get(), "GET / HTTP/1.0\r\n\r\n", 18, send_flags()));
    }
  });
  int open = 0;
  for (int i = 0; i < 20; ++i) {
    const auto attempts = try_connect({"127.0.0.1", ""}, {"127.0.0.1", ""}, {port}, 10'000,
                                      Deadline::after_ms(20'000));
    if (attempts.at(0).outcome == AttemptOutcome::kOpen) ++open;
  }
  stop = true;
  stranger.join();
  EXPECT_EQ(open, 20);
}

}  // namespace
}  // namespace plumbline
