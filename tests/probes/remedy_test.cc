#include "probes/remedy.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>

#include "core/command.h"
#include "evidence_builder.h"
#include "filters/filters_helpers.h"
#include "probes/filters/evaluate.h"
#include "probes/rules/pair_remedy.h"

namespace plumbline {
namespace {

using test::remedy_for_rule;

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
  EXPECT_EQ(shell_text(remedy_link_up("linux", "a'b")), "ip link set dev 'a'\\''b' up");
  const Command up = remedy_link_up("linux", "a;touch${IFS}x");
  EXPECT_EQ(up.problem(), "");
  EXPECT_EQ(shell_text(up), "ip link set dev 'a;touch${IFS}x' up");
}

// A kernel takes an interface called `a` or `up`, and ip and tc take abbreviations of their words:
// a name that is no literal stands only where nothing but a name can, in every remedy there is.
TEST(Remedy, AnInterfaceStandsBehindItsKeywordInEveryCommandOfIp) {
  const std::string name = "a", other = "m";
  RouteEvidence route;
  route.destination = "10.2.0.0/16";
  route.dev = name;
  InterfaceEvidence nic = test::make_nic(name, "", {"10.0.0.1/24"});
  FilterRule rule;
  rule.tool = "tc";
  rule.device = name;
  rule.hook = "ingress";
  rule.table = "flower";
  rule.id = "0x1";
  Remedy all = remedy_replace_prefix("linux", nic, "10.0.0.1", 24, 16);
  for (const std::string ip : {"10.0.0.1", "fd00::1"}) {
    all.run(remedy_add_address("linux", ip, 24, name))
        .run(remedy_delete_address("linux", ip, 24, name))
        .run(remedy_connected_route("linux", ip, 24, name))
        .run(remedy_delete_neighbour("linux", ip, name))
        .run(remedy_route_mtu(nullptr, ip, ip, "", name, 1400));
  }
  for (const int handle : {1, 2}) {
    rule.handle = handle;
    all.then(remedy_for_rule(rule, true, "10.0.0.1", "10.0.0.2", {80}));
  }
  all.run(remedy_link_up("linux", name))
      .run(remedy_set_mtu("linux", name, 1400))
      .run(remedy_arp_on("linux", name))
      .run(remedy_delete_route("linux", route))
      .run(remedy_add_route("linux", route))
      .run(remedy_add_vlan(name, other, "7"))
      .run(remedy_add_to_bridge("linux", name, other))
      .run(remedy_forward_on_port(name))
      .then(remedy_join_ports({name, other}));
  size_t names = 0;
  for (const HostCommand& command : all.commands()) {
    const std::vector<std::string>& argv = command.argv;
    ASSERT_THAT((std::set<std::string>{"ip", "bridge", "tc"}), testing::Contains(argv[0]));
    for (size_t i = 1; i < argv.size(); ++i) {
      if (argv[i] != name && argv[i] != other) continue;
      ++names;
      // `ip link add link PARENT`: the second `link` is the keyword.
      const bool parent = i == 4 && argv[2] == "add" && argv[3] == "link";
      EXPECT_TRUE(parent || argv[i - 1] == "dev" || argv[i - 1] == "master" ||
                  argv[i - 1] == "name")
          << testing::PrintToString(argv);
    }
  }
  EXPECT_GE(names, 20u);
}

// tc looks for words of its own where the kind of a classifier stands.
TEST(Remedy, AKindOfClassifierIsOneThatTcKnows) {
  FilterRule rule;
  rule.tool = "tc";
  rule.device = "eth0";
  rule.hook = "ingress";
  rule.id = "0x1";
  rule.handle = 1;
  for (const char* kind : {"help", "root", "p", "estimator", "block"}) {
    rule.table = kind;
    EXPECT_THAT(remedy_for_rule(rule, true, "10.0.0.1", "10.0.0.2", {80}).commands(),
                testing::IsEmpty())
        << kind;
  }
  rule.table = "u32";
  EXPECT_EQ(remedy_for_rule(rule, true, "10.0.0.1", "10.0.0.2", {80}).commands().size(), 1u);
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
