#include <gmock/gmock.h>

#include "evidence_builder.h"
#include "host_rule_helpers.h"
#include "probes/rules/host_readiness.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kKibi = 1 << 10, kMebi = 1 << 20;

HostEvidence linux_host(BufferEvidence buffers, const std::string& receive,
                        const std::string& send) {
  HostEvidence host = test::make_host("mini2");
  host.buffers = std::move(buffers);
  if (!receive.empty()) host.sysctls["net.ipv4.tcp_rmem"] = receive;
  if (!send.empty()) host.sysctls["net.ipv4.tcp_wmem"] = send;
  return host;
}

const std::string kStockReceive = "4096 131072 6291456", kStockSend = "4096\t16384\t4194304";

TEST(SocketBuffers, WhatASocketReallyGetsDecides) {
  const struct {
    const char* name;
    BufferEvidence buffers;
    std::string receive, send;
    CheckOutcome outcome;
    std::string remedy;
  } rows[] = {
      {"nothing known but the grant",
       {4 * kMebi, 4 * kMebi, 4 * kMebi, ""},
       "",
       "",
       CheckOutcome::kPass,
       ""},
      {"granted, and the tuning is the usual",
       {4 * kMebi, 4 * kMebi, 4 * kMebi, ""},
       kStockReceive,
       kStockSend,
       CheckOutcome::kPass,
       ""},
      {"nothing asked, the usual", {}, kStockReceive, kStockSend, CheckOutcome::kPass, ""},
      // Limited by tcp_rmem and tcp_wmem alone: was a pass.
      {"nothing asked, receive cannot grow",
       {},
       "4096 16384 212992",
       kStockSend,
       CheckOutcome::kWarn,
       "sysctl -w 'net.ipv4.tcp_rmem=4096 16384 6291456'"},
      {"nothing asked, send cannot grow",
       {},
       kStockReceive,
       "4096 16384 65536",
       CheckOutcome::kWarn,
       "sysctl -w 'net.ipv4.tcp_wmem=4096 16384 4194304'"},
      {"neither can grow",
       {},
       "4096 16384 65536",
       "4096 8192 16384",
       CheckOutcome::kWarn,
       "sysctl -w 'net.ipv4.tcp_rmem=4096 16384 6291456'\n"
       "sysctl -w 'net.ipv4.tcp_wmem=4096 8192 4194304'"},
      {"granted, but what asks for nothing cannot grow",
       {4 * kMebi, 4 * kMebi, 4 * kMebi, ""},
       "4096 16384 212992",
       kStockSend,
       CheckOutcome::kWarn,
       "sysctl -w 'net.ipv4.tcp_rmem=4096 16384 8388608'"},
      // Refused: such a socket is left to the tuning.
      {"refused, and the tuning does not reach it either",
       {4 * kMebi, 208 * kKibi, 208 * kKibi, ""},
       kStockReceive,
       kStockSend,
       CheckOutcome::kWarn,
       "sysctl -w net.core.rmem_max=4194304\nsysctl -w net.core.wmem_max=4194304"},
      {"refused, but the tuning goes further: was a warning",
       {4 * kMebi, 208 * kKibi, 208 * kKibi, ""},
       "4096 131072 67108864",
       "4096 16384 67108864",
       CheckOutcome::kPass,
       ""},
      {"refused, and only sending stays small",
       {4 * kMebi, 208 * kKibi, 208 * kKibi, ""},
       "4096 131072 67108864",
       kStockSend,
       CheckOutcome::kWarn,
       "sysctl -w net.core.wmem_max=4194304"},
      {"both limits are in the way",
       {8 * kMebi, 8 * kMebi, 4 * kMebi, ""},
       "4096 16384 32768",
       kStockSend,
       CheckOutcome::kWarn,
       "sysctl -w net.core.rmem_max=8388608\n"
       "sysctl -w 'net.ipv4.tcp_rmem=4096 16384 16777216'"},
      {"refused, tuning unknown",
       {4 * kMebi, 4 * kMebi, 208 * kKibi, ""},
       "",
       "",
       CheckOutcome::kWarn,
       "sysctl -w net.core.rmem_max=4194304"},
  };
  for (const auto& row : rows) {
    const BufferVerdict verdict =
        judge_socket_buffers(linux_host(row.buffers, row.receive, row.send));
    EXPECT_EQ(verdict.outcome, row.outcome) << row.name << ": " << verdict.reason;
    EXPECT_EQ(verdict.remedy.text(), row.remedy) << row.name;
    EXPECT_EQ(verdict.reason.find('\n'), std::string::npos) << row.name;
  }
}

TEST(SocketBuffers, TheLimitThatIsMetIsNamed) {
  const BufferVerdict verdict = judge_socket_buffers(
      linux_host({4 * kMebi, 4 * kMebi, 4 * kMebi, ""}, "4096 16384 212992", kStockSend));
  EXPECT_THAT(verdict.reason, AllOf(HasSubstr("granted 4 MiB"), HasSubstr("104 KiB to receive"),
                                    HasSubstr("net.ipv4.tcp_rmem"), HasSubstr("need 640 KiB"),
                                    Not(HasSubstr("tcp_wmem"))));
}

TEST(SocketBuffers, MacosHasLimitsOfItsOwn) {
  HostEvidence host = test::make_host("mac1");
  host.system = "macos";
  host.sysctls = {{"net.inet.tcp.autorcvbufmax", "2097152"},
                  {"net.inet.tcp.autosndbufmax", "2097152"}};
  EXPECT_EQ(judge_socket_buffers(host).outcome, CheckOutcome::kPass);
  host.sysctls["net.inet.tcp.autorcvbufmax"] = "131072";
  BufferVerdict verdict = judge_socket_buffers(host);
  EXPECT_EQ(verdict.outcome, CheckOutcome::kWarn);
  EXPECT_EQ(verdict.remedy.text(), "sysctl -w net.inet.tcp.autorcvbufmax=6291456");
  host.sysctls.clear();
  host.buffers = {8 * kMebi, 4 * kMebi, 4 * kMebi, ""};
  verdict = judge_socket_buffers(host);
  EXPECT_EQ(verdict.outcome, CheckOutcome::kWarn);
  EXPECT_EQ(verdict.remedy.text(), "sysctl -w kern.ipc.maxsockbuf=16777216")
      << "once for both directions";
}

// Evidence comes from other hosts and files.
TEST(SocketBuffers, HostileValuesAreNoLimits) {
  for (const char* value :
       {"", " ", "4096", "4096 16384", "a b c", "-1 -1 -1", "4096 16384 99999999999999999999",
        "4096 16384 1;reboot", "1 2 3 4", "4096 16384 32768\nrm -rf /"}) {
    const BufferVerdict verdict = judge_socket_buffers(linux_host({}, value, value));
    EXPECT_EQ(verdict.outcome, CheckOutcome::kPass) << value;
    EXPECT_EQ(verdict.remedy.text(), "") << value;
  }
  const BufferVerdict verdict =
      judge_socket_buffers(linux_host({INT64_MAX, INT64_MIN, -1, ""}, "0 0 0", kStockSend));
  EXPECT_EQ(verdict.outcome, CheckOutcome::kWarn);
  EXPECT_THAT(verdict.remedy.text(), HasSubstr("'net.ipv4.tcp_rmem=0 0 "));
  EXPECT_EQ(judge_socket_buffers(linux_host({0, 0, 0, "no socket"}, "0 0 0", "")).outcome,
            CheckOutcome::kUnknown);
}

TEST(SocketBuffers, SmallTuningIsAFindingOfItsHost) {
  EvidenceSet set = test::healthy_star(3);
  for (HostEvidence& host : set.hosts) {
    host.sysctls["net.ipv4.tcp_rmem"] = kStockReceive;
    host.sysctls["net.ipv4.tcp_wmem"] = kStockSend;
  }
  EXPECT_EQ(test::causes_of(set), "");
  test::host(set, "mini2").sysctls["net.ipv4.tcp_rmem"] = "4096 16384 65536";
  EXPECT_EQ(test::causes_of(set), "host.sockbuf_clamped@mini2");
}

}  // namespace
}  // namespace plumbline
