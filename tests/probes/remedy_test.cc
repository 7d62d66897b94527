#include "probes/remedy.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "core/command.h"
#include "evidence_builder.h"

namespace plumbline {
namespace {

TEST(Remedy, Ipv6PrefixIsTakenOffFirst) {
  const InterfaceEvidence nic = test::make_nic("eth0", "", {"fd00::1/96"});
  EXPECT_EQ(remedy_replace_prefix("linux", nic, "fd00::1", 96, 64).text(),
            "ip address del fd00::1/96 dev eth0\nip address add fd00::1/64 dev eth0 nodad");
}

TEST(Remedy, RoutesOfBothFamilies) {
  RouteEvidence route;
  route.destination = "fd00:2::/64";
  route.type = "unicast";
  route.dev = "eth0";
  route.via = "fd00:1::fe";
  route.table = "100";
  route.metric = 7;
  EXPECT_EQ(shell_text(remedy_delete_route("linux", route)),
            "ip -6 route del fd00:2::/64 via fd00:1::fe dev eth0 table 100 metric 7");
  EXPECT_EQ(shell_text(remedy_delete_route("macos", route)),
            "route -n delete -inet6 fd00:2::/64 fd00:1::fe");
  EXPECT_EQ(shell_text(remedy_connected_route("linux", "fd00::7", 64, "eth0")),
            "ip -6 route add fd00::/64 dev eth0 proto kernel metric 256");
}

// Each of these words once made a command of its own, or would have been read as one.
TEST(Remedy, WhatFitsNoSlotIsNoCommand) {
  RouteEvidence route;
  route.destination = "10.0.0.0/8;reboot";
  route.dev = "eth0";
  EXPECT_EQ(remedy_delete_route("linux", route).problem(),
            "'10.0.0.0/8;reboot' is no destination of a route");
  route.destination = "10.0.0.0/8";
  route.type = "blackhole;reboot";
  EXPECT_NE(remedy_delete_route("linux", route).problem(), "");
  route.type = "";
  route.table = "-h";
  EXPECT_NE(remedy_delete_route("linux", route).problem(), "");
  EXPECT_NE(remedy_add_address("linux", "10.0.0.1", 33, "eth0").problem(), "");
  EXPECT_NE(remedy_link_up("linux", "a\nreboot").problem(), "");
  EXPECT_NE(remedy_sysctl("net.ipv4.conf.a;b.rp_filter", "0").problem(), "");
  EXPECT_NE(remedy_sysctl("net.ipv4.conf.a.rp_filter", "$(reboot)").problem(), "");
  EXPECT_NE(remedy_kill(-1).problem(), "") << "a kill of everything";
  EXPECT_NE(remedy_kill(1).problem(), "");
  EXPECT_NE(remedy_own_name("a/e reboot", "10.0.0.1").problem(), "");
  EXPECT_NE(remedy_own_name("mini1", "10.0.0.1 localhost").problem(), "");
}

// Such interfaces can be made, and must be mended like any other.
TEST(Remedy, OddNamesThatTheKernelKnowsStayWords) {
  EXPECT_EQ(shell_text(remedy_link_up("linux", "a'b")), "ip link set 'a'\\''b' up");
  const Command up = remedy_link_up("linux", "a;touch${IFS}x");
  EXPECT_EQ(up.problem(), "");
  EXPECT_EQ(shell_text(up), "ip link set 'a;touch${IFS}x' up");
}

// Runs the command that puts the own name right on a file of its own.
std::string run_on_hosts_file(const Command& remedy, const std::string& before) {
  const std::string path = testing::TempDir() + "plumbline_hosts_" + std::to_string(getpid());
  std::ofstream(path) << before;
  std::string command = shell_text(remedy);
  for (size_t at = command.find("/etc/hosts"); at != std::string::npos;
       at = command.find("/etc/hosts", at + path.size())) {
    command.replace(at, std::string("/etc/hosts").size(), path);
  }
  const auto result = run_command({"sh", "-c", command}, Deadline::after_ms(20'000));
  EXPECT_TRUE(result && result->status == 0) << command;
  std::ifstream in(path);
  std::string after((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::remove(path.c_str());
  return after;
}

TEST(Remedy, OwnNameLeavesOtherNamesAlone) {
  const std::string after =
      run_on_hosts_file(remedy_own_name("mini1.local", "10.10.0.1"),
                        "127.0.0.1 localhost mini1.local\n"
                        "127.0.1.1\tmini1.local mini1\n"
                        "# mini1.local is here\n"
                        "10.10.0.2 mini1.local.lan xmini1.local mini1alocal\n");
  EXPECT_EQ(after,
            "127.0.0.1 localhost\n"
            "127.0.1.1 mini1\n"
            "# mini1.local is here\n"
            "10.10.0.2 mini1.local.lan xmini1.local mini1alocal\n"
            "10.10.0.1 mini1.local\n");
}

}  // namespace
}  // namespace plumbline
