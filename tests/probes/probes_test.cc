#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/requirement.h"
#include "probe_helpers.h"
#include "probes/ports.h"
#include "probes/probe.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

TEST(ProbeTable, RowsAreWholeAndInLadderOrder) {
  std::set<std::string> names;
  int rung = 0;
  for (const ProbeRow& row : probe_table()) {
    EXPECT_TRUE(names.insert(row.descriptor.name).second) << row.descriptor.name;
    EXPECT_FALSE(row.descriptor.help.empty());
    EXPECT_GT(row.rung, rung) << row.descriptor.name;
    rung = row.rung;
    EXPECT_EQ(find_probe(row.descriptor.name), &row);
    for (const std::string& word : row.descriptor.requires_) {
      const auto features = feature_table();
      EXPECT_TRUE(std::any_of(features.begin(), features.end(), [&](const FeatureRow& f) {
        return word == f.name;
      })) << word;
    }
  }
  for (const char* name : {"link", "ip", "name", "ports", "tcp.connect", "host"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
  EXPECT_EQ(find_probe("levitation"), nullptr);
}

ProbeContext sound_context(const OptionSet& options) {
  ProbeContext context = test::local_context(2, options);
  context.port_base = find_free_window(context.hosts[0].data, 3, 29500, {32768, 60999}).value();
  context.master_port = context.port_base + 2;
  return context;
}

TEST(RunProbes, AllOfThemOnASoundMachine) {
  OptionSet options = OptionSet().with("sock_bufsize", "64Ki", "test").value();
  const ProbeContext context = sound_context(options);
  const ProbeResult result = run_probes(context, {});
  test::expect_well_formed(result);
  EXPECT_TRUE(result.findings.empty()) << test::causes(result);
  std::set<std::string> ids;
  for (const Check& check : result.checks) {
    ids.insert(check.id);
    EXPECT_NE(check.outcome, CheckOutcome::kFail) << check.key << ": " << check.reason;
  }
  EXPECT_EQ(ids.size(), probe_table().size()) << "a probe has said nothing";
}

TEST(RunProbes, OnlyTheNamedOnesAndInLadderOrder) {
  OptionSet options;
  const ProbeResult result = run_probes(sound_context(options), {"ip", "ports"});
  std::vector<std::string> ids;
  for (const Check& check : result.checks) {
    if (ids.empty() || ids.back() != check.id) ids.push_back(check.id);
  }
  EXPECT_THAT(ids, testing::ElementsAre("ports", "ip"));
}

TEST(RunProbes, UnknownNameIsUnknownNotPassed) {
  OptionSet options;
  const ProbeResult result = run_probes(sound_context(options), {"levitation"});
  ASSERT_EQ(result.checks.size(), 2u);
  EXPECT_EQ(result.checks[0].outcome, CheckOutcome::kUnknown);
  EXPECT_THAT(result.checks[0].key, HasSubstr("levitation"));
}

TEST(RunProbes, PassedDeadlineLeavesUnknowns) {
  OptionSet options;
  ProbeContext context = sound_context(options);
  context.deadline = Deadline::at_ns(0);
  const ProbeResult result = run_probes(context, {});
  test::expect_well_formed(result);
  EXPECT_FALSE(result.checks.empty());
  for (const Check& check : result.checks) EXPECT_EQ(check.outcome, CheckOutcome::kUnknown);
}

TEST(RunProbes, NoHostsNoChecks) {
  OptionSet options;
  ProbeContext context;
  context.options = &options;
  EXPECT_TRUE(run_probes(context, {}).checks.empty());
}

TEST(RunProbes, CollisionOfPortsIsFoundFromConfigurationAlone) {
  OptionSet options;
  ProbeContext context = sound_context(options);
  context.master_port = context.port_base + 1;
  const ProbeResult result = run_probes(context, {});
  test::expect_well_formed(result);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].cause, "tcp.port_collision");
  const nlohmann::json json = result.findings[0];
  EXPECT_EQ(json.at("outcome"), "fail");
  EXPECT_TRUE(json.at("peer").is_null());
}

}  // namespace
}  // namespace plumbline
