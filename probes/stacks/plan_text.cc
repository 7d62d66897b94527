#include "probes/stacks/plan_text.h"

#include <fmt/format.h>

#include <set>

#include "core/ranges.h"
#include "probes/evidence_query.h"
#include "probes/stacks/stack.h"

namespace plumbline {
namespace {

bool same_except_number(const StackRank& a, const StackRank& b) {
  return a.host == b.host && a.interface == b.interface && a.ip == b.ip && a.reason == b.reason &&
         a.cannot == b.cannot && a.also == b.also && a.environment == b.environment;
}

std::string choice_of(const StackRank& rank) {
  if (rank.ip.empty()) {
    return rank.cannot.empty() ? "no address of its own" : "no address: " + rank.cannot;
  }
  const std::string where = rank.interface.empty() ? rank.ip : rank.interface + " " + rank.ip;
  return rank.reason.empty() ? where : fmt::format("{}: {}", where, rank.reason);
}

void add_ranks(const StackPlan& plan, std::vector<std::string>& lines) {
  for (size_t i = 0; i < plan.ranks.size(); ++i) {
    const StackRank& rank = plan.ranks[i];
    size_t last = i;
    while (last + 1 < plan.ranks.size() && same_except_number(rank, plan.ranks[last + 1]) &&
           rank.listeners.empty()) {
      ++last;
    }
    lines.push_back(fmt::format("  rank {} on {}: {}",
                                last == i ? std::to_string(rank.rank)
                                          : fmt::format("{}-{}", rank.rank, plan.ranks[last].rank),
                                rank.host, choice_of(rank)));
    if (!rank.also.empty()) lines.push_back("    gives its peers too: " + join_words(rank.also));
    for (const StackListener& listener : rank.listeners) {
      lines.push_back(fmt::format("    waits on {} {}", listener.ip, shown_ports(listener)));
    }
    std::vector<std::string> variables;
    for (const auto& [name, value] : rank.environment) variables.push_back(name + "=" + value);
    if (!variables.empty()) lines.push_back("    with " + join_words(variables, " "));
    i = last;
  }
}

// What is tried towards this host, in the words of the ladder.
std::string tried_at(const Job& job, const JobHost& host) {
  std::vector<std::string> words;
  std::set<std::pair<int, int>> ranges;
  for (const int port : ports_of(job, host.name)) {
    const auto range = range_of(job, host.name, port);
    if (range.first == range.second) {
      words.push_back(std::to_string(port));
    } else {
      ranges.insert(range);
    }
  }
  for (const auto& [first, last] : ranges) words.push_back(fmt::format("{}-{}", first, last));
  return join_words(words);
}

void add_pairs(const EvidenceSet& evidence, std::vector<std::string>& lines) {
  constexpr size_t kMost = 12;
  size_t shown = 0, left = 0;
  for (const PairEvidence& pair : evidence.pairs) {
    const JobHost* to = find_job_host(evidence, pair.to);
    if (to == nullptr || pair.to_ip.empty() || pair.same_machine) continue;
    const std::string ports = tried_at(evidence.job, *to);
    if (ports.empty()) continue;
    if (++shown > kMost) {
      ++left;
      continue;
    }
    lines.push_back(fmt::format("  {} calls {}: {} to {}, ports {}", pair.from, pair.to,
                                pair.from_ip, pair.to_ip, ports));
  }
  if (left > 0) lines.push_back(fmt::format("  and {} more pairs alike", left));
}

}  // namespace

std::string shown_ports(const StackListener& listener) {
  if (listener.first == 0) return "any port (" + listener.purpose + ")";
  if (listener.first == listener.last)
    return fmt::format("{} ({})", listener.first, listener.purpose);
  return fmt::format("{}{}-{} ({})", listener.kind == "ephemeral" ? "any of " : "", listener.first,
                     listener.last, listener.purpose);
}

std::vector<std::string> stack_lines(const EvidenceSet& evidence) {
  if (!evidence.stack) return {};
  const StackPlan& plan = *evidence.stack;
  std::vector<std::string> lines = {fmt::format("{}: what {} ranks would take (from {})",
                                                plan.stack, plan.ranks.size(), plan.read_from)};
  for (const auto& [host, version] : plan.installed) {
    lines.push_back(fmt::format("  installed on {}: {}", host, version));
  }
  if (plan.rendezvous_port != 0) {
    lines.push_back(fmt::format("  ranks meet at {} port {}, on {}",
                                plan.rendezvous_ip.empty() ? "?" : plan.rendezvous_ip,
                                plan.rendezvous_port, plan.rendezvous_host));
  }
  add_ranks(plan, lines);
  add_pairs(evidence, lines);
  for (const std::string& remark : plan.remarks) lines.push_back("  note: " + remark);
  if (!plan.variables.empty()) {
    std::vector<std::string> names;
    for (const StackVariable& variable : plan.variables) names.push_back(variable.name);
    lines.push_back("  variables that change this: " + join_words(names));
  }
  return lines;
}

}  // namespace plumbline
