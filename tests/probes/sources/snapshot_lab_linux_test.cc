// A snapshot inside a network namespace of our own, with filters of several kinds: what it sees,
// and that it changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/command.h"
#include "core/json.h"
#include "probes/sources/source.h"

namespace plumbline {
namespace {

class SnapshotLab : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
    if (std::getenv("TEST_LABS") == nullptr) GTEST_SKIP() << "TEST_LABS is not set";
    name_ = "plsnap" + std::to_string(getpid());
    file_ = ::testing::TempDir() + "/" + name_ + ".json";
    const auto made = run_command({"ip", "netns", "add", name_}, Deadline::after_ms(5'000));
    ASSERT_TRUE(made && made->status == 0);
  }
  void TearDown() override {
    if (name_.empty()) return;
    (void)run_command({"ip", "netns", "del", name_}, Deadline::after_ms(5'000));
    std::filesystem::remove(file_);
  }
  std::string in(const std::string& script) {
    const auto result =
        run_command({"ip", "netns", "exec", name_, "sh", "-c", script}, Deadline::after_ms(20'000));
    return result ? result->out + result->err : result.error().message();
  }
  HostEvidence snapshot() {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    in("TEST_SNAPSHOT_FILE=" + file_ + " " + self + " --gtest_filter=SnapshotChild.WritesAFile");
    std::ifstream stream(file_);
    const auto json = nlohmann::json::parse(stream, nullptr, false);
    EXPECT_FALSE(json.is_discarded());
    return json.is_discarded() ? HostEvidence{} : json.get<HostEvidence>();
  }
  std::string state() {
    return in(
        "nft list ruleset; cat /proc/net/ip_tables_names /proc/net/ip6_tables_names; ip link; "
        "ip addr; ip route show table all; ip rule; tc qdisc; sysctl -a 2>/dev/null | grep -v "
        "-e random -e dentry -e inode -e file-nr -e conntrack_count -e sched -e ns_last_pid "
        "-e loadavg -e pty.nr -e perf -e tcp_rtt -e nr_free -e stat_refresh -e entropy");
  }
  std::string name_, file_;
};

TEST_F(SnapshotLab, AnEmptyNamespaceStaysEmpty) {
  in("ip link set lo up");
  const std::string before = in("nft list ruleset; cat /proc/net/ip_tables_names");
  const auto host = snapshot();
  ASSERT_EQ(host.interfaces.size(), 1U);
  EXPECT_EQ(host.interfaces[0].name, "lo");
  EXPECT_TRUE(host.sockets.empty());  // those of the machine are not ours
  EXPECT_TRUE(host.filters.empty());
  EXPECT_EQ(in("nft list ruleset; cat /proc/net/ip_tables_names"), before);
}

TEST_F(SnapshotLab, SeesFiltersAndChangesNothing) {
  in("ip link add d0 type veth peer name d1; ip link set d0 up; ip link set d1 up; "
     "ip addr add 10.20.0.1/24 dev d0; ip route add blackhole 10.30.0.0/16; "
     "nft add table inet own; "
     "nft add chain inet own in '{type filter hook input priority 0; policy accept;}'; "
     "nft add rule inet own in tcp dport 29601 reject; "
     "iptables-nft -A INPUT -p tcp --dport 29602 -j DROP; tc qdisc add dev d0 clsact");
  // The kernel goes on by itself until it has tried its own IPv6 addresses on both ends.
  in("for i in $(seq 200); do [ \"$(ip -6 addr show scope link -tentative | grep -c inet6)\" = 2 ] "
     "&& break; sleep 0.05; done");
  const std::string before = state();
  const auto host = snapshot();
  EXPECT_EQ(state(), before);
  const auto stops = [&](const std::string& tool, const std::string& action) {
    return std::count_if(host.filters.begin(), host.filters.end(), [&](const FilterRule& rule) {
      return rule.tool == tool && rule.action == action && !rule.is_policy;
    });
  };
  EXPECT_EQ(stops("nftables", "reject"), 1);
  EXPECT_EQ(stops("nftables", "drop"), 0);  // iptables' table counts once, as iptables
  EXPECT_EQ(stops("iptables", "drop"), 1);
  EXPECT_TRUE(std::any_of(host.routes.begin(), host.routes.end(), [](const RouteEvidence& route) {
    return route.type == "blackhole" && route.destination == "10.30.0.0/16";
  }));
  EXPECT_TRUE(host.unreadable.empty()) << host.unreadable.front();
  EXPECT_EQ(host.sysctls.count("net.ipv4.conf.d0.rp_filter"), 1U);
  EXPECT_THAT(host.privileges, ::testing::Contains("filters"));
}

TEST_F(SnapshotLab, WithoutPrivilegeItSaysWhatItCannotSee) {
  if (run_command({"setpriv", "--version"}, Deadline::after_ms(5'000))
          .value_or(CommandResult{1, {}, {}, false})
          .status != 0) {
    GTEST_SKIP() << "there is no setpriv here";
  }
  in("nft add table inet own");
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string copy = ::testing::TempDir() + "/" + name_ + ".bin";
  std::filesystem::copy_file(self, copy);
  std::ofstream(file_).close();
  std::filesystem::permissions(file_, std::filesystem::perms(0666));
  std::filesystem::permissions(copy, std::filesystem::perms(0755));
  in("TEST_SNAPSHOT_FILE=" + file_ + " setpriv --reuid 65534 --regid 65534 --clear-groups " + copy +
     " --gtest_filter=SnapshotChild.WritesAFile");
  std::filesystem::remove(copy);
  std::ifstream stream(file_);
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  const auto host = json.get<HostEvidence>();
  EXPECT_EQ(host.uid, 65534);
  EXPECT_TRUE(host.privileges.empty());
  EXPECT_FALSE(host.interfaces.empty());
  const auto nftables = std::find_if(host.filter_sources.begin(), host.filter_sources.end(),
                                     [](const auto& source) { return source.tool == "nftables"; });
  ASSERT_NE(nftables, host.filter_sources.end());
  EXPECT_TRUE(nftables->present);
  EXPECT_FALSE(nftables->readable);
  EXPECT_FALSE(nftables->why.empty());
  EXPECT_THAT(host.unreadable, ::testing::Contains(::testing::HasSubstr("nft: ")));
}

}  // namespace
}  // namespace plumbline
