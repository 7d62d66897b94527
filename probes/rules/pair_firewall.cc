// The firewall.* causes as findings: evidence, remedy and what they break.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/ranges.h"
#include "core/units.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/ports.h"
#include "probes/rules/pair_blocks.h"
#include "probes/rules/pair_remedy.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

const PortTry* try_of(const PairEvidence& pair, int port) {
  return find_where(pair.ports, [&](const PortTry& t) { return t.port == port; });
}

// "timeout" on ports 29600-29602, as the connecting host saw it.
std::vector<Evidence> attempts_seen(const BlockGroup& group) {
  const PairEvidence& pair = *group.view->pair;
  std::map<std::string, std::vector<int>> by_result;
  for (const Block* block : group.blocks) {
    const PortTry* attempt = try_of(pair, block->port);
    if (attempt == nullptr || attempt->result == "not_tried") continue;
    std::string what = attempt->result;
    if (what == "timeout") {
      what = "no answer within " + format_duration(static_cast<double>(attempt->took_ns));
    } else if (!attempt->error.empty()) {
      what += " (" + attempt->error + ")";
    }
    by_result[what].push_back(block->port);
  }
  std::vector<Evidence> out;
  for (const auto& [what, ports] : by_result) {
    out.push_back({pair.from, connect_key(pair, ports[0]),
                   fmt::format("connecting to {} {}: {}", pair.to_ip, ports_text(ports), what)});
  }
  return out;
}

void add_once(std::vector<Evidence>& list, Evidence entry) {
  const bool known =
      any_of(list, [&](const Evidence& e) { return e.host == entry.host && e.text == entry.text; });
  if (!known) list.push_back(std::move(entry));
}

std::vector<Evidence> evidence_of(const BlockGroup& group) {
  const PairEvidence& pair = *group.view->pair;
  std::vector<Evidence> out = attempts_seen(group);
  std::vector<int> open;
  for (const PortTry& attempt : pair.ports) {
    if (is_open(state_of(attempt))) open.push_back(attempt.port);
  }
  if (group.cause == "firewall.partial_range" && !open.empty()) {
    out.push_back({pair.from, connect_key(pair, open[0]), ports_text(open) + " can be reached"});
  }
  for (const Block* block : group.blocks) {
    for (Evidence entry : block->evidence) {
      entry.check = connect_key(pair, block->port);
      add_once(out, std::move(entry));
    }
    if (!block->device.empty()) {
      const std::string who = block->router != nullptr ? " (" + block->router->name + ")" : "";
      add_once(out,
               {pair.from, connect_key(pair, block->port),
                fmt::format("it was refused by {}{}, a device on the way", block->device, who)});
    }
    if (!block->hit || block->hit->rule == nullptr) continue;
    const std::string& other = block->hit->host->name == pair.to ? pair.from : pair.to;
    add_once(out, {block->hit->host->name, key_of({"firewall", block->hit->host->name, other}),
                   (block->hit->certain ? "" : "perhaps ") + describe(*block->hit->rule)});
  }
  return out;
}

Remedy path_remedy(const BlockGroup& group) {
  const PairEvidence& pair = *group.view->pair;
  return fmt::format(
      "# on the devices between {} and {} (switch, bridge, router, hypervisor): let TCP between {} "
      "and {} to {} pass; the filters of the two hosts are not what stops it",
      pair.from, pair.to, pair.from_ip, pair.to_ip, ports_text(group.ports()));
}

// The culprit itself tells that these packets end there: its own capture, or its own system's
// refusal. What only the other end says, or what is left when others are ruled out, may be a lie
// about it: that it holds a connection (half open, or accepted) does not say who loses the answers.
bool culprit_tells(const Block& block, const std::string& culprit) {
  const PairEvidence& pair = *block.view->pair;
  const PortTry* attempt = try_of(pair, block.port);
  if (attempt == nullptr) return false;
  if (culprit == pair.to) return attempt->captured_there;
  return culprit == pair.from && (attempt->captured_here || attempt->result == "denied");
}

// The same words, and nothing to execute.
Remedy as_advice(const Remedy& remedy) {
  std::vector<std::string> code;
  for (const RemedyStep& step : remedy.steps()) {
    if (step.is_code) code.push_back(step.text);
  }
  return Remedy::only_shown(remedy.text(), code);
}

// A port that was tried for a range stands for all of it.
std::vector<int> whole_ranges(const Job& job, const std::string& host,
                              const std::vector<int>& ports) {
  std::vector<int> out;
  for (const int port : ports) {
    const auto range = range_of(job, host, port);
    for (int each = range.first; each <= range.second; ++each) out.push_back(each);
  }
  sort_unique(out);
  return out;
}

Remedy remedy_of(const BlockGroup& group) {
  if (group.place == StopPlace::kPath && group.blocks[0]->router == nullptr)
    return path_remedy(group);
  const PairEvidence& pair = *group.view->pair;
  const bool at_listener = group.culprit == pair.to;
  const HostEvidence* host = find_host(*group.view->evidence, group.culprit);
  std::map<const FilterRule*, std::vector<int>> by_rule;
  bool tells = true;  // of what no rule explains
  for (const Block* block : group.blocks) {
    // Where it is known that this host drops them, a rule that may be the one is the one.
    const bool meant = block->hit && (block->hit->certain || block->known());
    const FilterRule* rule = meant ? block->hit->rule : nullptr;
    by_rule[rule].push_back(block->port);
    if (rule == nullptr) tells = tells && culprit_tells(*block, group.culprit);
  }
  Remedy out;
  for (const auto& [rule, ports] : by_rule) {
    Passage passage = passage_at(pair, at_listener);
    passage.peer_name = group.peer;
    passage.ports = whole_ranges(group.view->evidence->job, pair.to, ports);
    passage.incoming = group.request == at_listener;
    const Remedy open = remedy_open(host, rule, passage);
    out.then(rule != nullptr || tells ? open : as_advice(open));
  }
  return out;
}

bool peer_is_told(const BlockGroup& group, size_t hosts) {
  if (hosts > 2) return true;
  // Of two hosts, only a rule that names nobody shows that it would hit any peer.
  return any_of(group.blocks, [](const Block* block) {
    return !block->hit || block->hit->rule == nullptr || !hits_every_peer(*block->hit->rule);
  });
}

// What ports were tried for, and how the stack can do without so many.
void add_ranges(const EvidenceSet& evidence, const std::string& listener, Finding& finding) {
  std::set<std::pair<int, int>> ranges;
  for (const int port : finding.ports) {
    const auto range = range_of(evidence.job, listener, port);
    if (range.first != range.second) ranges.insert(range);
  }
  for (const auto& [first, last] : ranges) {
    finding.evidence.push_back(
        {listener, "",
         fmt::format("{} takes any of the ports {}-{} there; those that were tried stand for all",
                     evidence.stack ? evidence.stack->stack : "the job", first, last)});
  }
}

Candidate candidate_of(const BlockGroup& group) {
  const PairEvidence& pair = *group.view->pair;
  const EvidenceSet& evidence = *group.view->evidence;
  Candidate out;
  out.needs_way_back = true;
  Finding& finding = out.finding;
  finding.cause = group.cause;
  finding.host = group.culprit;
  finding.peer = peer_is_told(group, evidence.job.hosts.size()) ? group.peer : "";
  finding.ports = group.ports();
  if (finding.ports.size() == 1) finding.port = finding.ports[0];
  finding.confidence = 0;
  out.by_captures_only = none_of(
      group.blocks, [](const Block* block) { return block->hit && block->hit->rule != nullptr; });
  out.by_rules_only = all_of(group.blocks, [](const Block* block) { return block->by_rule_only; });
  for (const Block* block : group.blocks) {
    finding.confidence = std::max(finding.confidence, block->confidence);
    out.proven = out.proven || block->proven;
    finding.explains.push_back(connect_key(pair, block->port));
    if (is_job_port(evidence.job, block->port)) out.breaks = {{pair.from, pair.to}};
    if (block->hit && block->hit->rule != nullptr && stops_every_frame(*block->hit->rule)) {
      out.supersedes = {"neighbour.unresolved"};
    }
  }
  finding.evidence = evidence_of(group);
  for (const Evidence& line : finding.evidence) {
    const bool known = line.check.empty() ||
                       std::count(finding.explains.begin(), finding.explains.end(), line.check) > 0;
    if (!known) finding.explains.push_back(line.check);
  }
  finding.remedy = remedy_of(group);
  add_ranges(evidence, pair.to, finding);
  return out;
}

}  // namespace

std::vector<Candidate> block_candidates(const EvidenceSet& evidence, const std::vector<Check>&) {
  const BlockAnalysis analysis(evidence);
  std::vector<Candidate> out;
  for (const BlockGroup& group : analysis.groups()) out.push_back(candidate_of(group));
  return out;
}

}  // namespace plumbline
