#include <gtest/gtest.h>

#include "probes/sources/parsers.h"

namespace plumbline {
namespace {

TEST(Infiniband, ReadsPortsAndGids) {
  HostEvidence host;
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  ASSERT_TRUE(parse_sys_class_infiniband(
      "/sys/class/infiniband/mlx5_0/node_type:1: CA\n" + port + "state:4: ACTIVE\n" + port +
          "link_layer:Ethernet\n" + port + "gids/0:fe80:0000:0000:0000:0000:00ff:fe00:0001\n" +
          port + "gids/1:0000:0000:0000:0000:0000:ffff:0a0a:0001\n" + port +
          "gids/2:0000:0000:0000:0000:0000:0000:0000:0000\n" + port + "gids/300:1\n" + port +
          "gid_attrs/ndevs/0:eth0\n",
      host));
  ASSERT_TRUE(host.rdma.has_value());
  ASSERT_EQ(host.rdma->devices.size(), 1U);
  const RdmaDevice& device = host.rdma->devices[0];
  EXPECT_EQ(device.name, "mlx5_0");
  EXPECT_EQ(device.state, "ACTIVE");
  EXPECT_EQ(device.link_layer, "Ethernet");
  EXPECT_EQ(device.transport, "InfiniBand");
  EXPECT_EQ(device.netdev, "eth0");
  ASSERT_EQ(device.gids.size(), 2U);
  EXPECT_EQ(device.gids[1], "0000:0000:0000:0000:0000:ffff:0a0a:0001");
}

TEST(Infiniband, AHostWithoutIsNoError) {
  HostEvidence host;
  ASSERT_TRUE(parse_sys_class_infiniband("", host));
  EXPECT_FALSE(host.rdma.has_value());
  ASSERT_TRUE(parse_sys_class_infiniband(
      "/sys/class/infiniband/x/ports/0/state:1\n/sys/class/infiniband/x/ports/y/state:1\n"
      "/sys/class/infiniband/\n/sys/class/infiniband/x:1\n",
      host));
  EXPECT_FALSE(host.rdma.has_value());
}

const char* const kDevinfo =
    "hca_id:\trdma_en3\n\ttransport:\t\t\tThunderbolt (7)\n\tphys_port_cnt:\t\t\t1\n"
    "\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tmax_mtu:\t\t4096 (5)\n"
    "\t\t\tactive_mtu:\t\t4096 (5)\n\t\t\tlink_layer:\t\tEthernet\n"
    "\t\t\tGID[  0]:\t\tfe80::1, RoCE v2\n\t\t\tGID[  1]:\t\t::ffff:10.10.0.1\n"
    "hca_id:\trdma_en4\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_DOWN (1)\n";

TEST(IbvDevinfo, ReadsDevices) {
  HostEvidence host;
  ASSERT_TRUE(parse_ibv_devinfo(kDevinfo, host));
  ASSERT_EQ(host.rdma->devices.size(), 2U);
  const RdmaDevice& device = host.rdma->devices[0];
  EXPECT_EQ(device.transport, "Thunderbolt");
  EXPECT_EQ(device.state, "ACTIVE");
  EXPECT_EQ(device.active_mtu, 4096);
  ASSERT_EQ(device.gids.size(), 2U);
  EXPECT_EQ(device.gids[0], "fe80::1");
  EXPECT_EQ(device.gids[1], "::ffff:10.10.0.1");
  EXPECT_EQ(host.rdma->devices[1].state, "DOWN");
}

TEST(IbvDevinfo, IgnoresNonsense) {
  HostEvidence host;
  ASSERT_TRUE(
      parse_ibv_devinfo("state: PORT_ACTIVE\nport: 1\nhca_id:\nport: 1\nGID[-1]: x\n"
                        "hca_id: a\nport: 999\nstate: x\nport: 1\nGID[999999]: fe80::2\n"
                        "GID[: 1\nGID[]: 1\nstate:\n",
                        host));
  ASSERT_EQ(host.rdma->devices.size(), 1U);
  EXPECT_TRUE(host.rdma->devices[0].gids.empty());
}

}  // namespace
}  // namespace plumbline
