#include "probes/gather.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

JobHost job_host(const std::string& name, const std::string& data,
                 const std::string& reached_by = "netns") {
  JobHost host;
  host.name = name;
  if (!data.empty()) host.data = {data};
  host.reached_by = reached_by;
  return host;
}

EvidenceSet evidence_of(const std::vector<JobHost>& hosts) {
  EvidenceSet evidence;
  evidence.job.hosts = hosts;
  evidence.job.ports = {29500, 29600};
  for (const JobHost& host : hosts) {
    HostEvidence entry;
    entry.name = host.name;
    evidence.hosts.push_back(entry);
  }
  return evidence;
}

TEST(disjoint_rounds, meet_every_pair_once_and_no_host_twice_in_a_round) {
  for (size_t hosts = 0; hosts <= 9; ++hosts) {
    std::set<std::pair<size_t, size_t>> met;
    for (const auto& round : disjoint_rounds(hosts)) {
      std::set<size_t> busy;
      for (const auto& [a, b] : round) {
        EXPECT_LT(a, b);
        EXPECT_LT(b, hosts);
        EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second) << hosts;
        EXPECT_TRUE(met.insert({a, b}).second) << hosts;
      }
    }
    EXPECT_EQ(met.size(), hosts < 2 ? 0 : hosts * (hosts - 1) / 2);
    EXPECT_LE(disjoint_rounds(hosts).size(), hosts);
  }
}

TEST(pairs_to_try, takes_the_addresses_that_share_a_subnet) {
  EvidenceSet evidence = evidence_of({job_host("a", "10.0.0.1/30"), job_host("b", "10.0.0.2/30")});
  evidence.job.hosts[0].data = {"10.9.0.1/24", "10.0.0.1/30"};
  const auto pairs = pairs_to_try(evidence);
  ASSERT_THAT(pairs, SizeIs(2));
  EXPECT_EQ(pairs[0].from_ip, "10.0.0.1");
  EXPECT_EQ(pairs[0].to_ip, "10.0.0.2");
  EXPECT_EQ(pairs[1].from, "b");
  EXPECT_THAT(pairs[0].skipped, IsEmpty());
}

TEST(pairs_to_try, one_pair_stands_for_all_places_on_this_machine) {
  const auto pairs = pairs_to_try(evidence_of({job_host("local0", "127.0.0.1/8", "local"),
                                               job_host("local1", "127.0.0.1/8", "local"),
                                               job_host("local2", "127.0.0.1/8", "local")}));
  size_t tried = 0;
  for (const PairEvidence& pair : pairs) tried += pair.skipped.empty() ? 1 : 0;
  EXPECT_EQ(tried, 1u);
}

TEST(pairs_to_try, says_why_a_pair_cannot_be_tried) {
  const auto pairs = pairs_to_try(
      evidence_of({job_host("a", "10.0.0.1/24"), job_host("b", ""), job_host("c", "fd00::1/64")}));
  for (const PairEvidence& pair : pairs) EXPECT_FALSE(pair.skipped.empty()) << pair.from << pair.to;
}

// An agent that answers every request with what the test wants.
AgentRequest answer(const std::string& name, const nlohmann::json& reply) {
  return {name, "", [reply](const nlohmann::json&, const AgentCall&) -> Expected<nlohmann::json> {
            return reply;
          }};
}

TEST(agent_batch, an_answer_that_makes_no_sense_costs_its_host_only) {
  const auto sane = make_in_process_agent("a", {answer("snapshot", nlohmann::json::object())});
  const auto mad = make_in_process_agent("b", {answer("snapshot", "what?")});
  ProbeContext context;
  context.agents = {sane.get(), mad.get(), nullptr};
  context.evidence = evidence_of({job_host("a", ""), job_host("b", ""), job_host("c", "")});
  int taken = 0, failed = 0;
  AgentBatch batch(context);
  for (size_t i = 0; i < 3; ++i) {
    batch.ask(
        i, "snapshot", nlohmann::json::object(), 2000,
        [&](const nlohmann::json& reply) {
          ++taken;
          (void)reply.get<HostEvidence>();
        },
        [&](const Error&) { ++failed; });
  }
  batch.collect();
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(failed, 2);
  EXPECT_NE(context.agents[0], nullptr);
  EXPECT_EQ(context.agents[1], nullptr);
  EXPECT_EQ(context.evidence.hosts[1].agent_cause, "rank.agent_lost");
  EXPECT_THAT(context.evidence.hosts[1].agent_error, HasSubstr("snapshot"));
}

TEST(gather_evidence, goes_on_when_every_agent_is_missing) {
  ProbeContext context;
  context.agents = {nullptr, nullptr};
  context.evidence = evidence_of({job_host("a", "10.0.0.1/24"), job_host("b", "10.0.0.2/24")});
  std::vector<std::string> traces;
  gather_evidence(context, ~0u, {}, traces);
  ASSERT_THAT(context.evidence.pairs, SizeIs(2));
  EXPECT_THAT(context.evidence.pairs[0].skipped, HasSubstr("no agent on a"));
  EXPECT_THAT(traces, IsEmpty());
}

TEST(evidence, survives_its_own_text) {
  EvidenceSet evidence = evidence_of({job_host("a", "10.0.0.1/24"), job_host("b", "10.0.0.2/24")});
  evidence.hosts[0].clock_offset_ns = -5;
  evidence.hosts[0].interfaces.emplace_back();
  evidence.hosts[0].interfaces[0].carrier = false;
  evidence.pairs = pairs_to_try(evidence);
  evidence.pairs[0].ports.emplace_back();
  evidence.pairs[0].ports[0].here.emplace();
  evidence.pairs[0].ports[0].icmp.emplace();
  evidence.pairs[0].quality.emplace();
  const std::string text = evidence_text(evidence);
  const auto back = parse_evidence(text);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(evidence_text(*back), text);
  EXPECT_FALSE(back->hosts[1].clock_offset_ns.has_value());
  EXPECT_FALSE(back->pairs[1].mtu.has_value());
}

TEST(evidence, refuses_what_is_none) {
  for (const char* text : {"", "[]", "{", "42", "{\"schema\": 2}", "{\"hosts\": 5}",
                           "{\"job\": {\"ports\": [\"x\"]}}", "{\"pairs\": [[]]}"}) {
    EXPECT_FALSE(parse_evidence(text)) << text;
  }
}

}  // namespace
}  // namespace plumbline
