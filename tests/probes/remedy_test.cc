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

using testing::HasSubstr;

TEST(Remedy, Ipv6PrefixIsTakenOffFirst) {
  const InterfaceEvidence nic = test::make_nic("eth0", "", {"fd00::1/96"});
  EXPECT_EQ(remedy_replace_prefix("linux", nic, "fd00::1", 96, 64),
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
  EXPECT_EQ(remedy_delete_route("linux", route),
            "ip -6 route del fd00:2::/64 via fd00:1::fe dev eth0 table 100 metric 7");
  EXPECT_EQ(remedy_delete_route("macos", route), "route -n delete -inet6 fd00:2::/64 fd00:1::fe");
  EXPECT_EQ(remedy_connected_route("linux", "fd00::7", 64, "eth0"),
            "ip -6 route add fd00::/64 dev eth0 proto kernel metric 256");
}

TEST(Remedy, HostileWordsStayWords) {
  RouteEvidence route;
  route.destination = "10.0.0.0/8;reboot";
  route.dev = "$(reboot)";
  const std::string text = remedy_delete_route("linux", route);
  EXPECT_THAT(text, HasSubstr("'10.0.0.0/8;reboot'"));
  EXPECT_THAT(text, HasSubstr("'$(reboot)'"));
  EXPECT_EQ(remedy_link_up("linux", "a'b"), "ip link set 'a'\\''b' up");
}

// Runs the command that puts the own name right on a file of its own.
std::string run_on_hosts_file(const std::string& remedy, const std::string& before) {
  const std::string path = testing::TempDir() + "plumbline_hosts_" + std::to_string(getpid());
  std::ofstream(path) << before;
  std::string command = remedy;
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
