#include "probes/ip.h"

#include <gmock/gmock.h>

#include "probe_helpers.h"

namespace plumbline {
namespace {

using test::address;
using test::nic;
using testing::HasSubstr;

const ProbeHost kHost = {"mini1", {address("10.10.0.1", 24)}};

TEST(Ip, AddressInPlacePasses) {
  const ProbeResult result =
      judge_addresses(kHost, {test::loopback(), nic("eth0", {address("10.10.0.1", 24)}),
                              nic("eth1", {address("10.11.0.1", 24)})});
  test::expect_well_formed(result);
  EXPECT_TRUE(result.findings.empty()) << test::causes(result);
  EXPECT_EQ(result.checks[0].outcome, CheckOutcome::kPass);
}

TEST(Ip, WholeLoopbackSubnetIsLocal) {
  const ProbeResult result =
      judge_addresses({"local1", {address("127.0.0.2", 8)}}, {test::loopback()});
  EXPECT_EQ(result.checks.at(0).outcome, CheckOutcome::kPass);
}

TEST(Ip, MissingAddressNamesWhatIsThere) {
  const ProbeResult result =
      judge_addresses(kHost, {test::loopback(), nic("eth0", {address("192.168.7.9", 24)})});
  test::expect_well_formed(result);
  ASSERT_EQ(test::causes(result), "ip.missing ");
  EXPECT_THAT(result.findings[0].evidence[0].text, HasSubstr("192.168.7.9 on eth0"));
  EXPECT_THAT(result.findings[0].remedy, HasSubstr("10.10.0.1"));
}

TEST(Ip, SelfAssignedAddressOnly) {
  const ProbeResult result = judge_addresses(
      kHost, {test::loopback(), nic("eth0", {address("169.254.7.9", 16), address("fe80::1", 64)})});
  ASSERT_EQ(test::causes(result), "ip.link_local_only ");
  EXPECT_EQ(result.findings[0].outcome, Severity::kFail);
}

TEST(Ip, AnInterfaceWithoutIpv4IsNotSelfAssigned) {
  const ProbeResult result =
      judge_addresses(kHost, {test::loopback(), nic("eth0", {address("fe80::1", 64)})});
  EXPECT_EQ(test::causes(result), "ip.missing ");
}

TEST(Ip, SelfAssignedAddressThatTheHostFileNamesIsANote) {
  const ProbeResult result = judge_addresses({"mini1", {address("169.254.7.9", 16)}},
                                             {nic("bridge0", {address("169.254.7.9", 16)})});
  test::expect_well_formed(result);
  ASSERT_EQ(test::causes(result), "ip.link_local_only ");
  EXPECT_EQ(result.findings[0].outcome, Severity::kNote);
  EXPECT_TRUE(result.findings[0].explains.empty()) << "there is nothing to explain away";
}

TEST(Ip, NothingUpIsLeftToTheLink) {
  const ProbeResult result =
      judge_addresses(kHost, {test::loopback(), nic("eth0", {}, false, false)});
  EXPECT_TRUE(result.findings.empty()) << test::causes(result);
  EXPECT_EQ(result.checks.at(0).outcome, CheckOutcome::kFail);
}

TEST(Ip, MaskDiffersFromTheHostFile) {
  const ProbeResult result = judge_addresses(kHost, {nic("eth0", {address("10.10.0.1", 16)})});
  test::expect_well_formed(result);
  ASSERT_EQ(test::causes(result), "ip.mask_mismatch ");
  EXPECT_EQ(result.findings[0].outcome, Severity::kWarn);
  // Without a prefix length in the host file there is nothing to compare.
  EXPECT_TRUE(judge_addresses({"mini1", {address("10.10.0.1", 0)}},
                              {nic("eth0", {address("10.10.0.1", 16)})})
                  .findings.empty());
}

TEST(Ip, SecondInterfaceOnTheSameSubnet) {
  for (const NicAddress& second :
       {address("10.10.0.9", 24), address("10.10.9.9", 16), address("10.10.0.5", 30)}) {
    const ProbeResult result =
        judge_addresses(kHost, {nic("eth0", {address("10.10.0.1", 24)}), nic("wlan0", {second})});
    test::expect_well_formed(result);
    EXPECT_EQ(test::causes(result), "ip.overlap ") << second.ip << "/" << second.prefix;
  }
  EXPECT_TRUE(judge_addresses(kHost, {nic("eth0", {address("10.10.0.1", 24)}),
                                      nic("wlan0", {address("10.10.0.9", 24)}, false, false)})
                  .findings.empty())
      << "an interface that is down covers nothing";
}

TEST(Ip, HostWithoutDataAddressIsUnknown) {
  const ProbeResult result = judge_addresses({"mini1", {}}, {test::loopback()});
  test::expect_well_formed(result);
  EXPECT_EQ(result.checks.at(0).outcome, CheckOutcome::kUnknown);
}

}  // namespace
}  // namespace plumbline
