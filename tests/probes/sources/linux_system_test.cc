#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/sources/parsers.h"

namespace plumbline {
namespace {

TEST(ProcSys, NamesValuesAndNamesOfTheSystem) {
  HostEvidence host;
  ASSERT_TRUE(
      parse_proc_sys("/proc/sys/kernel/hostname:host1\n/proc/sys/kernel/ostype:Linux\n"
                     "/proc/sys/kernel/osrelease:6.1.0\n/proc/sys/kernel/arch:x86_64\n"
                     "/proc/sys/kernel/random/boot_id:00000000-0000-4000-8000-000000000001\n"
                     "/proc/sys/net/ipv4/conf/eth0.5/rp_filter:1\n"
                     "/proc/sys/net/ipv4/tcp_rmem:4096\t131072\t6291456\n"
                     "/proc/sys/net/netfilter/nf_conntrack_max:262144\n"
                     "/proc/sys/net/netfilter/nf_conntrack_count:17\n"
                     "/etc/passwd:root\nnonsense\n",
                     host));
  EXPECT_EQ(host.sysctls.at("net.ipv4.conf.eth0.5.rp_filter"), "1");
  EXPECT_EQ(host.sysctls.at("net.ipv4.tcp_rmem"), "4096 131072 6291456");
  EXPECT_EQ(host.kernel, "Linux 6.1.0 x86_64");
  EXPECT_EQ(host.hostname, "host1");
  EXPECT_EQ(host.boot_id, "00000000-0000-4000-8000-000000000001");
  EXPECT_EQ(host.conntrack_count, 17);
  EXPECT_EQ(host.conntrack_max, 262144);
  EXPECT_EQ(host.sysctls.size(), 9U);
}

TEST(ProcSys, WithoutConntrackNothingIsGuessed) {
  HostEvidence host;
  ASSERT_TRUE(parse_proc_sys("/proc/sys/net/netfilter/nf_conntrack_max:lots\n", host));
  EXPECT_EQ(host.conntrack_max, std::nullopt);
  EXPECT_EQ(host.conntrack_count, std::nullopt);
  EXPECT_EQ(host.kernel, "");
}

TEST(OsRelease, NamesTheDistribution) {
  HostEvidence host;
  ASSERT_TRUE(parse_os_release_file("ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n", host));
  EXPECT_EQ(host.os, "Debian GNU/Linux 12");
  EXPECT_FALSE(parse_os_release_file("garbage", host));
}

TEST(Machine, JoinsVendorAndProduct) {
  HostEvidence host;
  ASSERT_TRUE(parse_machine_files(
      "/sys/class/dmi/id/sys_vendor:Maker\n/sys/class/dmi/id/product_name:Model 7\n", host));
  EXPECT_EQ(host.model, "Maker Model 7");
  HostEvidence none;
  ASSERT_TRUE(parse_machine_files("", none));
  EXPECT_EQ(none.model, "");
}

TEST(Limits, ReadsTheSoftOnes) {
  HostEvidence host;
  ASSERT_TRUE(parse_proc_limits(
      "Limit                     Soft Limit           Hard Limit           Units\n"
      "Max locked memory         8388608              8388608              bytes\n"
      "Max open files            1024                 524288               files\n",
      host));
  EXPECT_EQ(host.descriptors, 1024);
  EXPECT_EQ(host.locked_memory, 8388608);
  HostEvidence free;
  ASSERT_TRUE(parse_proc_limits(
      "Max locked memory         unlimited            unlimited            bytes\n"
      "Max open files            unlimited            unlimited            files\n",
      free));
  EXPECT_EQ(free.descriptors, std::nullopt);
  EXPECT_EQ(free.locked_memory, -1);
  EXPECT_FALSE(parse_proc_limits("Max open\n", free));
  EXPECT_TRUE(parse_proc_limits("Max open files\n", free));
}

TEST(ProcStatus, ReadsUserAndCores) {
  HostEvidence host;
  ASSERT_TRUE(
      parse_proc_status("Name:\tcat\nUid:\t1000\t1001\t1001\t1001\n"
                        "Cpus_allowed_list:\t0-3,8,10-11\n",
                        host));
  EXPECT_EQ(host.uid, 1001);
  EXPECT_EQ(host.cores_usable, 7);
  for (const char* list : {"0-99999999999", "5-2", "x", "-", "1,,2", ""}) {
    HostEvidence odd;
    ASSERT_TRUE(parse_proc_status(std::string("Cpus_allowed_list:\t") + list + "\n", odd));
    EXPECT_EQ(odd.cores_usable, 0) << list;
  }
}

TEST(LoadAvg, ReadsTheFirstNumber) {
  HostEvidence host;
  ASSERT_TRUE(parse_loadavg("0.52 0.58 0.59 1/389 12345\n", host));
  EXPECT_DOUBLE_EQ(host.load1.value(), 0.52);
  EXPECT_FALSE(parse_loadavg("busy", host));
}

}  // namespace
}  // namespace plumbline
