#include "probes/checks.h"

#include <gmock/gmock.h>

#include "probe_helpers.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

using testing::ElementsAre;

TEST(Checks, KeysNameTheirSubject) {
  EXPECT_EQ(make_check({"link", "a"}, CheckOutcome::kPass, "x").key, "link/a");
  EXPECT_EQ(make_check({"link", "a", {}, {}, "eth0"}, CheckOutcome::kPass, "x").key, "link/a#eth0");
  const Check check = make_check({"tcp.connect", "a", "b", 5}, CheckOutcome::kFail, "x");
  EXPECT_EQ(check.key, "tcp.connect/a>b:5");
  EXPECT_EQ(check.peer, "b");
  EXPECT_EQ(check.port, 5);
}

Finding finding(const std::string& cause, Severity severity, const std::string& host,
                std::vector<int> ports, const std::string& peer = {}) {
  Finding out;
  out.cause = cause;
  out.outcome = severity;
  out.host = host;
  out.peer = peer;
  out.ports = std::move(ports);
  out.remedy = cause + " remedy";
  out.evidence = {{host, cause, "seen"}};
  out.explains = {host + cause + peer};
  return out;
}

TEST(Checks, FindingsOfOneHostAreMerged) {
  std::vector<Finding> findings = {finding("a", Severity::kFail, "h", {1, 2}, "p"),
                                   finding("a", Severity::kFail, "h", {1, 2, 3}, "q"),
                                   finding("a", Severity::kFail, "other", {1, 2}, "p"),
                                   finding("a", Severity::kFail, "h", {9}, "p")};
  merge_findings(findings);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_THAT(findings[0].ports, ElementsAre(1, 2, 3));
  EXPECT_EQ(findings[0].peer, "") << "both peers suffer, so none is named";
  EXPECT_EQ(findings[0].evidence.size(), 2u);
  EXPECT_THAT(findings[0].explains, ElementsAre("hap", "haq"));
  EXPECT_EQ(findings[1].peer, "p");
}

TEST(Checks, FindingsWithoutPortsAreMergedOnlyWithOneRemedy) {
  std::vector<Finding> findings = {finding("link.down", Severity::kFail, "h", {}),
                                   finding("link.down", Severity::kFail, "h", {}),
                                   finding("link.down", Severity::kFail, "h", {})};
  findings[2].remedy = "another interface";
  merge_findings(findings);
  EXPECT_EQ(findings.size(), 2u);
}

TEST(Checks, FindingsAreSortedBySeverityThenRung) {
  std::vector<Finding> findings = {
      finding("note", Severity::kNote, "h", {}), finding("warn1", Severity::kWarn, "h", {}),
      finding("fail1", Severity::kFail, "h", {}), finding("warn2", Severity::kWarn, "h", {}),
      finding("fail2", Severity::kFail, "h", {})};
  merge_findings(findings);
  std::vector<std::string> order;
  for (const Finding& f : findings) order.push_back(f.cause);
  EXPECT_THAT(order, ElementsAre("fail1", "fail2", "warn1", "warn2", "note"));
}

TEST(Checks, SameMachineAndAddresses) {
  OptionSet options;
  ProbeContext context = test::local_context(3, options);
  context.hosts[1].data = {test::address("127.0.0.2", 8)};
  EXPECT_EQ(same_machine(context, 0), std::nullopt);
  EXPECT_EQ(same_machine(context, 2), "local0");
  EXPECT_EQ(same_addresses(context, 0), std::nullopt);
  EXPECT_EQ(same_addresses(context, 1), std::nullopt);
  EXPECT_EQ(same_addresses(context, 2), "local0");
}

TEST(Thresholds, EveryRowHasUnitAndReason) {
  EXPECT_FALSE(threshold_table().empty());
  for (const ThresholdRow& row : threshold_table()) {
    EXPECT_STRNE(row.unit, "");
    EXPECT_STRNE(row.reason, "");
    EXPECT_EQ(threshold(row.id), row.value) << row.name;
    EXPECT_GT(row.value, 0) << row.name;
  }
}

TEST(Subnet, Arithmetic) {
  EXPECT_TRUE(same_subnet("10.10.0.1", "10.10.0.2", 30));
  EXPECT_FALSE(same_subnet("10.10.0.1", "10.10.0.5", 30));
  EXPECT_TRUE(same_subnet("10.10.0.1", "99.0.0.1", 0));
  EXPECT_TRUE(same_subnet("10.10.0.1", "10.10.0.1", 32));
  EXPECT_FALSE(same_subnet("10.10.0.1", "10.10.0.0", 32));
  EXPECT_TRUE(same_subnet("fd00::1", "fd00::2", 64));
  EXPECT_TRUE(same_subnet("fe80::1%eth0", "fe80::2%en4", 10));
  EXPECT_FALSE(same_subnet("fd00::1", "10.0.0.1", 0)) << "different families";
  for (const int prefix : {-1, 33, 1000}) EXPECT_FALSE(same_subnet("10.0.0.1", "10.0.0.1", prefix));
  for (const char* bad : {"", "10.0.0", "10.0.0.256", "host", "%eth0"}) {
    EXPECT_FALSE(same_subnet(bad, bad, 0)) << bad;
  }
}

}  // namespace
}  // namespace plumbline
