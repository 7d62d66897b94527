#include "probes/stacks/stack_gather.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/evidence_query.h"
#include "probes/gather/gather.h"
#include "probes/stacks/choice.h"
#include "probes/stacks/stack_job.h"

namespace plumbline {
namespace {

constexpr int64_t kVersionMs = 5000;
constexpr size_t kLongestVersion = 64;

// A program that is not there says so with its status; then the host has no version.
std::map<std::string, std::string> ask_versions(ProbeContext& context, const StackRow& row) {
  std::map<std::string, std::string> out;
  AgentBatch batch(context);
  for (size_t i = 0; i < context.evidence.hosts.size(); ++i) {
    const std::string& host = context.evidence.hosts[i].name;
    AskCommand asked;
    asked.label = row.name;
    asked.command = row.version_command;
    asked.timeout_ms = kVersionMs;
    batch.ask(i, asked, kVersionMs + kVersionMs / 2, [&out, host](const CommandEvidence& said) {
      if (said.status != 0 || !said.error.empty()) return;
      const std::string version = version_in(said.out).substr(0, kLongestVersion);
      if (!version.empty()) out[host] = version;
    });
  }
  batch.collect();
  return out;
}

// One host's further address, and another's in the same network.
struct FurtherWay {
  const StackRank* from = nullptr;
  const StackRank* to = nullptr;
  AskedWay way = {};
  NeighbourProbe neighbour = {};
  PingEvidence ping = {};
  bool neighbour_asked = false;
  bool asked = false;
};

std::vector<StackAddress> given_addresses(const StackRank& rank, const HostEvidence& host,
                                          bool chosen_too) {
  std::vector<StackAddress> out;
  std::vector<std::string> given = rank.also;  // "eth1 10.0.0.1"
  if (chosen_too && !rank.ip.empty()) given.push_back(rank.ip);
  for (const std::string& entry : given) {
    const auto at = carrier_on(host, entry.substr(entry.rfind(' ') + 1));
    if (at && !is_loopback(*at)) out.push_back(*at);
  }
  return out;
}

constexpr size_t kMostWays = 512;

// `cut`: there are more.
std::vector<FurtherWay> further_ways(const EvidenceSet& evidence, const StackPlan& plan,
                                     bool chosen_too, bool& cut) {
  std::vector<FurtherWay> out;
  std::set<std::pair<std::string, std::string>> known;  // addresses
  std::vector<const StackRank*> ranks;                  // one of each host that gives the same
  for (const StackRank& rank : plan.ranks) {
    if (none_of(ranks, [&](const StackRank* each) {
          return each->host == rank.host && each->ip == rank.ip && each->also == rank.also;
        })) {
      ranks.push_back(&rank);
    }
  }
  for (const StackRank* from : ranks) {
    for (const StackRank* to : ranks) {
      const HostEvidence *here = find_host(evidence, from->host),
                         *there = find_host(evidence, to->host);
      if (from->host == to->host || here == nullptr || there == nullptr) continue;
      for (const StackAddress& own : given_addresses(*from, *here, chosen_too)) {
        for (const StackAddress& other : given_addresses(*to, *there, chosen_too)) {
          const std::string &ip = own.address->ip, &peer = other.address->ip;
          if (ip == peer || !shares_subnet(own, peer)) continue;
          if (out.size() >= kMostWays) {
            cut = true;
            return out;
          }
          if (!known.insert({ip, peer}).second) continue;
          out.push_back({from, to, {ip, own.interface->name, peer}});
        }
      }
    }
  }
  return out;
}

void ask_ways(ProbeContext& context, std::vector<FurtherWay>& ways) {
  constexpr int64_t kAnswerMs = 4000;
  AgentBatch batch(context);
  for (FurtherWay& each : ways) {
    const size_t host = index_of(context.evidence, each.from->host);
    AskNeighbour neighbour;
    AskPing ping;
    static_cast<AskedWay&>(neighbour) = static_cast<AskedWay&>(ping) = each.way;
    batch.ask(host, neighbour, kAnswerMs, [&each](NeighbourProbe said) {
      each.neighbour = std::move(said);
      each.neighbour_asked = true;
    });
    batch.ask(host, ping, kAnswerMs, [&each](PingEvidence said) {
      each.ping = std::move(said);
      each.asked = each.ping.unavailable.empty();
    });
  }
  batch.collect();
}

}  // namespace

void ask_installed(ProbeContext& context, StackPlan& plan) {
  const StackRow* row = find_stack(plan.stack);
  if (row == nullptr) return;
  plan.installed = ask_versions(context, *row);
  note_versions(*row, plan);
}

void try_given_addresses(ProbeContext& context, StackPlan& plan, bool chosen_too) {
  bool cut = false;
  std::vector<FurtherWay> ways = further_ways(context.evidence, plan, chosen_too, cut);
  if (cut) {
    plan.remarks.push_back(
        fmt::format("of the ways between further addresses the first {} were tried", kMostWays));
  }
  if (ways.empty()) return;
  ask_ways(context, ways);
  std::set<std::pair<std::string, std::string>> told;  // host, address
  for (const FurtherWay& each : ways) {
    const bool answers = each.ping.received > 0 || !each.neighbour.macs.empty();
    if (answers || !each.asked) continue;
    if (!told.insert({each.from->host, each.way.from_ip}).second) continue;
    // Without a word of the neighbour a filter may have taken the echoes.
    const bool sure =
        each.neighbour_asked && each.neighbour.error.empty() && each.neighbour.on_link;
    plan.traps.push_back(
        {"stack.interface",
         sure ? "fail" : "warn",
         each.from->host,
         {},
         {},
         fmt::format("{} gives its peers {} {}, and from there {} ({}) does not answer{}",
                     each.from->host, each.way.interface, each.way.from_ip, each.to->host,
                     each.way.to_ip, sure ? ", not even as a neighbour" : ""),
         set_interface(plan, *find_host(context.evidence, each.from->host))});
  }
}

void plan_for_hosts(ProbeContext& context, const StackRow& row, StackQuestion question) {
  EvidenceSet& evidence = context.evidence;
  for (const StackEnvironment& environment : question.environment) {
    const auto master = environment.find("MASTER_ADDR");
    if (master != environment.end() && !parse_ip(master->second)) {
      evidence.job.names = {master->second};
    }
  }
  std::vector<std::string> traces;
  gather_evidence(context, kNeedSnapshot, {}, traces);
  question.evidence = &evidence;
  StackPlan plan = make_stack_plan(row, question);
  ask_installed(context, plan);
  try_given_addresses(context, plan, false);
  evidence.stack = std::move(plan);
  evidence.job = job_of_stack(evidence);
  evidence.pairs.clear();
}

}  // namespace plumbline
