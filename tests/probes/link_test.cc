#include "probes/link.h"

#include <gmock/gmock.h>

#include "probe_helpers.h"

namespace plumbline {
namespace {

using test::address;
using test::nic;
using testing::HasSubstr;

const ProbeHost kHost = {"mini1", {address("10.10.0.1", 24)}};
const ProbeHost kLocal = {"local0", {address("127.0.0.1", 8)}};

TEST(Link, HealthyLinkPasses) {
  Nic data = nic("eth0", {address("10.10.0.1", 24)});
  data.speed_bps = 10'000'000'000;
  const ProbeResult result = judge_links(kHost, {test::loopback(), data});
  test::expect_well_formed(result);
  EXPECT_TRUE(result.findings.empty()) << test::causes(result);
  const Check check = test::check_ending(result, "#eth0");
  EXPECT_EQ(check.outcome, CheckOutcome::kPass);
  EXPECT_EQ(check.reason, "eth0: ethernet, up, 10 Gbit/s, MTU 1500, 10.10.0.1/24");
}

TEST(Link, DataInterfaceDown) {
  const ProbeResult result =
      judge_links(kHost, {test::loopback(), nic("eth0", {address("10.10.0.1", 24)}, false, false)});
  test::expect_well_formed(result);
  ASSERT_EQ(test::causes(result), "link.down ");
  EXPECT_EQ(result.findings[0].outcome, Severity::kFail);
  EXPECT_THAT(result.findings[0].remedy, HasSubstr("eth0 up"));
}

TEST(Link, DataInterfaceWithoutCarrier) {
  const ProbeResult result =
      judge_links(kHost, {test::loopback(), nic("eth0", {address("10.10.0.1", 24)}, true, false)});
  ASSERT_EQ(test::causes(result), "link.no_carrier ");
  EXPECT_THAT(result.findings[0].remedy, HasSubstr("cable of eth0"));
}

TEST(Link, OtherInterfacesDownHarmNobody) {
  const ProbeResult result =
      judge_links(kHost, {nic("eth0", {address("10.10.0.1", 24)}), nic("eth1", {}, false, false),
                          nic("eth2", {address("10.11.0.1", 24)}, true, false)});
  test::expect_well_formed(result);
  EXPECT_TRUE(result.findings.empty()) << test::causes(result);
  EXPECT_EQ(test::check_ending(result, "#eth1").outcome, CheckOutcome::kSkipped);
  EXPECT_EQ(test::check_ending(result, "#eth2").outcome, CheckOutcome::kSkipped);
}

TEST(Link, LoopbackDownIsAWarning) {
  // As in a fresh network namespace: down, and therefore without addresses.
  const ProbeResult result = judge_links(kLocal, {nic("lo", {}, false, false)});
  test::expect_well_formed(result);
  ASSERT_EQ(test::causes(result), "link.down ");
  EXPECT_EQ(result.findings[0].outcome, Severity::kWarn);
}

TEST(Link, NoInterfaceLeftThatCouldCarryTheAddress) {
  for (const std::vector<Nic>& nics : {std::vector<Nic>{test::loopback()},
                                       {test::loopback(), nic("eth0", {}, false, false)},
                                       std::vector<Nic>{}}) {
    const ProbeResult result = judge_links(kHost, nics);
    test::expect_well_formed(result);
    EXPECT_EQ(test::causes(result), "link.missing ");
  }
  EXPECT_TRUE(judge_links(kHost, {nic("eth0", {})}).findings.empty())
      << "an interface that is up makes it a missing address";
}

TEST(Link, CarrierOf) {
  const std::vector<Nic> nics = {test::loopback(), nic("eth0", {address("10.10.0.1", 24)})};
  EXPECT_EQ(carrier_of(address("10.10.0.1", 24), nics), &nics[1]);
  EXPECT_EQ(carrier_of(address("10.10.0.2", 24), nics), nullptr) << "a neighbour is not us";
  EXPECT_EQ(carrier_of(address("127.9.9.9", 8), nics), &nics[0]);
  EXPECT_EQ(carrier_of(address("::2", 128), nics), nullptr);
  EXPECT_EQ(carrier_of(address("nonsense", 0), nics), nullptr);
}

}  // namespace
}  // namespace plumbline
