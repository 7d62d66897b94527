#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/sources/parsers.h"
#include "sample.h"

namespace plumbline {
namespace {

TEST(Sysctl, ValuesAndWhatTheyMean) {
  HostEvidence host;
  ASSERT_TRUE(parse_sysctl(test::sample("macos/sysctl_host.txt"), host));
  ASSERT_TRUE(parse_sysctl(test::sample("macos/sysctl_net.txt"), host));
  EXPECT_EQ(host.hostname, "mac2.local");
  EXPECT_EQ(host.model, "Mac16,11");
  EXPECT_EQ(host.boot_id, "00000000-0000-4000-8000-000000000002");
  EXPECT_EQ(host.cores_usable, 14);
  EXPECT_DOUBLE_EQ(host.load1.value_or(0), 1.52);
  EXPECT_EQ(host.sysctls.at("kern.ipc.maxsockbuf"), "8388608");
  EXPECT_EQ(host.sysctls.at("net.inet.ip.forwarding"), "0");
}

TEST(Sysctl, CommasNonsenseAndNothing) {
  HostEvidence host;
  ASSERT_TRUE(parse_sysctl("vm.loadavg: { 2,25 1,5 1,0 }\nhw.ncpu: 99999999999999999999\n", host));
  EXPECT_DOUBLE_EQ(host.load1.value_or(0), 2.25);
  EXPECT_EQ(host.cores_usable, 0);
  HostEvidence none;
  for (const char* text : {"", "sysctl: unknown oid 'x'", ": 5", "no dot: 5", "a.b:5"}) {
    EXPECT_FALSE(parse_sysctl(text, none)) << text;
  }
  EXPECT_TRUE(none.sysctls.empty());
  ASSERT_TRUE(parse_sysctl("vm.loadavg: { }\n", none));
  EXPECT_EQ(none.load1, std::nullopt);
}

TEST(SwVers, ReleaseAndBuild) {
  HostEvidence host;
  ASSERT_TRUE(parse_sw_vers(test::sample("macos/sw_vers.txt"), host));
  EXPECT_EQ(host.os, "macOS 26.2 (25C56)");
  ASSERT_TRUE(parse_sw_vers("ProductName:\tMac OS X\nProductVersion:\t10.15\n", host));
  EXPECT_EQ(host.os, "Mac OS X 10.15");
  EXPECT_FALSE(parse_sw_vers("ProductName: macOS\nProductVersion:\n", host));
  EXPECT_FALSE(parse_sw_vers("", host));
}

TEST(Uname, IdAndName) {
  HostEvidence host;
  ASSERT_TRUE(parse_uname(test::sample("macos/uname.txt"), host));
  EXPECT_EQ(host.kernel, "Darwin 25.2.0 arm64");
  EXPECT_FALSE(parse_uname("Darwin", host));
  ASSERT_TRUE(parse_id("501\n", host));
  EXPECT_EQ(host.uid, 501);
  for (const char* text : {"", "-1", "root", "99999999999999999999"}) {
    EXPECT_FALSE(parse_id(text, host)) << text;
  }
  ASSERT_TRUE(parse_local_host_name("Mac-mini-2\n", host));
  EXPECT_EQ(host.hostname, "Mac-mini-2.local");
  ASSERT_TRUE(parse_local_host_name("other\n", host));
  EXPECT_EQ(host.hostname, "Mac-mini-2.local");
}

TEST(Ulimit, OfSeveralShells) {
  HostEvidence host;
  ASSERT_TRUE(parse_ulimit(test::sample("macos/limits.txt"), host));
  EXPECT_EQ(host.descriptors, 256);
  EXPECT_EQ(host.locked_memory, -1);
  HostEvidence dash;
  ASSERT_TRUE(parse_ulimit("locked memory(kbytes)  64\nnofiles(descriptors)        1024\n", dash));
  EXPECT_EQ(dash.descriptors, 1024);
  EXPECT_EQ(dash.locked_memory, 65536);
  HostEvidence none;
  EXPECT_FALSE(parse_ulimit("unlimited\n", none));
  EXPECT_FALSE(parse_ulimit("open files (-n) 99999999999999999999\n", none));
  ASSERT_TRUE(parse_ulimit("max locked memory 9223372036854775807\nopen files 5\n", none));
  EXPECT_EQ(none.locked_memory, std::nullopt);
}

TEST(RdmaCtl, OneWord) {
  HostEvidence host;
  ASSERT_TRUE(parse_rdma_ctl("disabled\n", host));
  EXPECT_EQ(host.sysctls.at("rdma_ctl.status"), "disabled");
  ASSERT_TRUE(parse_rdma_ctl("RDMA is Enabled\n", host));
  EXPECT_EQ(host.sysctls.at("rdma_ctl.status"), "enabled");
  EXPECT_FALSE(parse_rdma_ctl("usage: rdma_ctl\n", host));
}

TEST(IbvDevices, StateComesFromTheInterface) {
  HostEvidence host;
  ASSERT_TRUE(parse_ifconfig(test::sample("macos/ifconfig.txt"), host));
  ASSERT_TRUE(parse_ibv_devices(
      test::sample("macos/ibv_devices.txt") + "rdma_en99 0000\nmlx5_0 0000\nrdma_ 0\n", host));
  ASSERT_TRUE(host.rdma);
  ASSERT_EQ(host.rdma->devices.size(), 2U);
  EXPECT_EQ(host.rdma->devices[0].netdev, "en3");
  EXPECT_EQ(host.rdma->devices[0].state, "DOWN");
  EXPECT_EQ(host.rdma->devices[1].state, "ACTIVE");
  EXPECT_EQ(host.rdma->library, "librdma.dylib");
}

TEST(IbvDevices, CompletesWhatDevinfoTold) {
  HostEvidence host;
  host.rdma.emplace();
  RdmaDevice device;
  device.name = "rdma_en2";
  device.state = "INIT";
  host.rdma->devices.push_back(device);
  ASSERT_TRUE(parse_ibv_devices("rdma_en2 0000000000000001\n", host));
  ASSERT_EQ(host.rdma->devices.size(), 1U);
  EXPECT_EQ(host.rdma->devices[0].netdev, "en2");
  EXPECT_EQ(host.rdma->devices[0].state, "INIT");
}

}  // namespace
}  // namespace plumbline
