// Causes that lie in what the user's own stack would take: stack.interface, stack.one_rank, and
// what it shares with others (names, configuration, ports).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/evidence_query.h"
#include "probes/rules/host_common.h"
#include "probes/rules/rules.h"
#include "probes/rules/stack_traps.h"
#include "probes/stacks/choice.h"

namespace plumbline {
namespace {

bool is_meant(const StackPlan& plan, const std::string& host, const std::string& ip) {
  const auto meant = plan.meant.find(host);
  if (meant == plan.meant.end() || meant->second.empty()) return true;
  return any_of(meant->second, [&](const std::string& text) { return parse_cidr(text).ip == ip; });
}

// Pairs whose address on this host is the one that the stack takes: all, and those on which nothing
// came back.
struct TakenPairs {
  OrderedPairs all, silent;
};
TakenPairs pairs_with(const EvidenceSet& evidence, const StackRank& rank) {
  TakenPairs out;
  for (const PairEvidence& pair : evidence.pairs) {
    if (!pair.skipped.empty() || own_ip(pair, rank.host) != rank.ip) continue;
    const auto answered = reaches(pair);
    if (!answered) continue;
    out.all.insert({pair.from, pair.to});
    if (!*answered) out.silent.insert({pair.from, pair.to});
  }
  return out;
}

// An address that the host file does not name: does it lead anywhere?
void judge_choice(const EvidenceSet& evidence, const StackRank& rank,
                  std::vector<StackTrap>& traps) {
  const StackPlan& plan = *evidence.stack;
  if (rank.ip.empty() || is_loopback_ip(rank.ip) || is_meant(plan, rank.host, rank.ip)) return;
  const TakenPairs pairs = pairs_with(evidence, rank);
  if (pairs.all.empty()) return;
  const bool dead = !pairs.silent.empty();
  const HostEvidence* host = find_host(evidence, rank.host);
  traps.push_back(
      {"stack.interface",
       dead ? "fail" : "warn",
       rank.host,
       {},
       {},
       fmt::format("{} takes {} {} on {} ({}), not {} of the host file; {}", plan.stack,
                   rank.interface, rank.ip, rank.host, rank.reason,
                   join_words(plan.meant.at(rank.host)),
                   dead ? "from there others do not answer" : "others can be reached from there"),
       host == nullptr ? std::string() : set_interface(plan, *host)});
}

}  // namespace

std::vector<StackTrap> traps_of(const EvidenceSet& evidence) {
  if (!evidence.stack) return {};
  std::vector<StackTrap> traps = evidence.stack->traps;
  std::set<std::string> judged;
  for (const StackRank& rank : evidence.stack->ranks) {
    const bool known = any_of(traps, [&](const StackTrap& trap) {
      return trap.host == rank.host && trap.cause == "stack.interface";
    });
    if (!known && judged.insert(rank.host).second) judge_choice(evidence, rank, traps);
  }
  return traps;
}

Subject stack_subject(const StackTrap& trap) {
  Subject subject = {"stack", trap.host, trap.peer, {}, trap.cause};
  if (trap.ports.size() == 1) subject.port = trap.ports[0];
  return subject;
}

Candidates propose_stack(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  for (const StackTrap& trap : traps_of(evidence)) {
    const Severity severity = trap.severity == "fail"   ? Severity::kFail
                              : trap.severity == "warn" ? Severity::kWarn
                                                        : Severity::kNote;
    Proposal proposal(trap.cause, severity, trap.host);
    proposal.peer(trap.peer).ports(trap.ports).remedy(trap.remedy).proven();
    proposal.see(trap.host, key_of(stack_subject(trap)), trap.text);
    if (severity == Severity::kFail && trap.cause == "stack.interface") {
      for (const StackRank& rank : evidence.stack->ranks) {
        if (rank.host == trap.host && !rank.ip.empty()) {
          proposal.breaks(pairs_with(evidence, rank).silent);
        }
      }
    }
    out.push_back(proposal.take(checks));
  }
  return out;
}

}  // namespace plumbline
