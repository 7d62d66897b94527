#include "probes/host.h"

#include <gmock/gmock.h>

#include "probe_helpers.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

HostFacts good_facts() {
  HostFacts facts;
  facts.cores_usable = 8;
  facts.load1 = 0.2;
  facts.governor = "performance";
  facts.clock_source = "tsc";
  return facts;
}

Readiness good_readiness() {
  Readiness ready;
  ready.buffer_asked = ready.send_buffer = ready.recv_buffer = 4 << 20;
  ready.ranks = ready.world = 8;
  ready.clock = {20, 1};
  ready.descriptors = 1024;
  return ready;
}

ProbeResult judge(const HostFacts& facts, const Readiness& ready) {
  const ProbeResult result = judge_host("mini1", facts, ready);
  test::expect_well_formed(result);
  return result;
}

TEST(Host, ReadyMachinePassesEverything) {
  const ProbeResult result = judge(good_facts(), good_readiness());
  EXPECT_TRUE(result.findings.empty()) << test::causes(result);
  for (const Check& check : result.checks)
    EXPECT_EQ(check.outcome, CheckOutcome::kPass) << check.key;
}

TEST(Host, ClampedBuffers) {
  for (uint64_t Readiness::*side : {&Readiness::send_buffer, &Readiness::recv_buffer}) {
    Readiness ready = good_readiness();
    ready.*side = (4 << 20) - 1;
    const ProbeResult result = judge(good_facts(), ready);
    ASSERT_EQ(test::causes(result), "host.sockbuf_clamped ");
    EXPECT_EQ(result.findings[0].outcome, Severity::kWarn);
    EXPECT_THAT(result.findings[0].remedy, HasSubstr("sysctl"));
    EXPECT_THAT(result.findings[0].evidence[0].text, HasSubstr("asked 4 MiB"));
  }
}

TEST(Host, AutomaticBuffersAreFineAndUntriedOnesUnknown) {
  Readiness ready = good_readiness();
  ready.buffer_asked = 0;
  ready.send_buffer = ready.recv_buffer = 0;
  EXPECT_TRUE(judge(good_facts(), ready).findings.empty());
  ready.buffer_asked = 1;
  ready.buffer_error = "no socket";
  EXPECT_EQ(test::check_ending(judge(good_facts(), ready), "#sockbuf").outcome,
            CheckOutcome::kUnknown);
}

TEST(Host, MoreRanksThanCores) {
  Readiness ready = good_readiness();
  ready.ranks = 9;
  const ProbeResult result = judge(good_facts(), ready);
  ASSERT_EQ(test::causes(result), "host.oversubscribed ");
  EXPECT_THAT(result.findings[0].remedy, HasSubstr("at most 8 ranks"));
  HostFacts none = good_facts();
  none.cores_usable = 0;
  none.load1 = 0;
  EXPECT_EQ(test::causes(judge(none, good_readiness())), "host.oversubscribed ");
}

TEST(Host, LoadAboveTheThreshold) {
  HostFacts facts = good_facts();
  facts.load1 = 8 * threshold(Threshold::kLoadPerCore) + 0.1;
  EXPECT_EQ(test::causes(judge(facts, good_readiness())), "host.overloaded ");
  facts.load1 = 8 * threshold(Threshold::kLoadPerCore);
  EXPECT_EQ(test::causes(judge(facts, good_readiness())), "");
  facts.load1.reset();
  EXPECT_EQ(test::check_ending(judge(facts, good_readiness()), "#load").outcome,
            CheckOutcome::kUnknown);
}

TEST(Host, GovernorAndClockWarnWithoutACause) {
  HostFacts facts = good_facts();
  facts.governor = "powersave";
  Readiness ready = good_readiness();
  ready.clock.call_ns = 900;
  const ProbeResult result = judge(facts, ready);
  EXPECT_TRUE(result.findings.empty()) << test::causes(result);
  EXPECT_EQ(test::check_ending(result, "#governor").outcome, CheckOutcome::kWarn);
  EXPECT_EQ(test::check_ending(result, "#clock").outcome, CheckOutcome::kWarn);
  facts.governor.reset();
  EXPECT_EQ(test::check_ending(judge(facts, ready), "#governor").outcome, CheckOutcome::kSkipped);
}

TEST(Host, TooFewDescriptors) {
  Readiness ready = good_readiness();
  ready.world = 1000;
  const ProbeResult result = judge(good_facts(), ready);
  ASSERT_EQ(test::causes(result), "host.limits ");
  EXPECT_THAT(result.findings[0].remedy, HasSubstr("ulimit -n"));
  ready.descriptors.reset();
  EXPECT_TRUE(judge(good_facts(), ready).findings.empty());
}

TEST(Host, HugeBufferRequestIsReallyClamped) {
  OptionSet options = OptionSet().with("sock_bufsize", "1Gi", "test").value();
  const ProbeContext context = test::local_context(1, options);
  const Readiness ready = read_readiness(context);
  EXPECT_EQ(ready.buffer_error, "");
  EXPECT_EQ(ready.buffer_asked, 1u << 30);
  EXPECT_GT(ready.send_buffer, 0u);
  if (ready.send_buffer >= ready.buffer_asked) {
    GTEST_SKIP() << "this system grants socket buffers of 1 GiB";
  }
  EXPECT_NE(test::find_cause(probe_host(context), "host.sockbuf_clamped"), nullptr);
}

TEST(Host, SmallBufferRequestIsGranted) {
  OptionSet options = OptionSet().with("sock_bufsize", "64Ki", "test").value();
  const ProbeResult result = probe_host(test::local_context(2, options));
  test::expect_well_formed(result);
  EXPECT_EQ(test::check_ending(result, "local0#sockbuf").outcome, CheckOutcome::kPass);
  EXPECT_EQ(test::check_ending(result, "host/local1").outcome, CheckOutcome::kSkipped);
}

}  // namespace
}  // namespace plumbline
