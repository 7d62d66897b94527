// A connection that lay idle and died without a word: a filter with state forgot it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "probes/checks.h"
#include "probes/rules/host_common.h"
#include "probes/rules/pair_facts.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

bool died(const PairView& view) {
  const PairEvidence& pair = *view.pair;
  if (!pair.idle || pair.idle_s <= 0 || !has_open_job_port(view)) return false;
  const PortTry& idle = *pair.idle;
  if (idle.result == "not_tried" || idle.result == "error") return false;
  return idle.result != "connected" || idle.answer != "ours";
}

using HostPair = std::pair<std::string, std::string>;

HostPair unordered(const PairEvidence& pair) { return std::minmax(pair.from, pair.to); }

// With how many others a host's idle connections die: a filter of one host meets all of them.
std::map<std::string, int> deaths_by_host(const std::vector<PairView>& views) {
  std::set<HostPair> dead;
  for (const PairView& view : views) {
    if (died(view)) dead.insert(unordered(*view.pair));
  }
  std::map<std::string, int> out;
  for (const auto& [one, other] : dead) {
    ++out[one];
    ++out[other];
  }
  return out;
}

Candidate candidate_of(const PairEvidence& pair, bool at_sender) {
  const PortTry& idle = *pair.idle;
  Candidate candidate;
  Finding& finding = candidate.finding;
  finding.cause = "firewall.idle_timeout";
  finding.outcome = Severity::kWarn;
  finding.host = at_sender ? pair.from : pair.to;
  finding.peer = at_sender ? pair.to : pair.from;
  finding.port = idle.port;
  finding.ports = {idle.port};
  finding.confidence = 0.6;
  finding.evidence.push_back(
      {pair.from, key_of({"tcp.connect", pair.from, pair.to, idle.port, "idle"}),
       fmt::format("a connection to {} port {} worked, lay idle for {} s, and then gave: {} {}",
                   pair.to_ip, idle.port, pair.idle_s, idle.result, idle.error)});
  finding.remedy
      .say(fmt::format("# a filter with state forgets connections that are idle for {} s; let it "
                       "keep them longer",
                       pair.idle_s))
      .say(
          "# (Linux: sysctl -w net.netfilter.nf_conntrack_tcp_timeout_established=432000), or let "
          "the")
      .say(fmt::format("# program set SO_KEEPALIVE on its sockets and speak every {} s "
                       "(TCP_KEEPIDLE, tcp(7))",
                       std::max<int64_t>(1, pair.idle_s / 3)));
  candidate.proven = true;
  return candidate;
}

}  // namespace

std::vector<Candidate> propose_idle_timeout(const EvidenceSet& evidence,
                                            const std::vector<Check>&) {
  const std::vector<PairView> views = pair_views(evidence);
  const std::map<std::string, int> deaths = deaths_by_host(views);
  std::vector<Candidate> out;
  std::set<HostPair> told;
  for (const PairView& view : views) {
    if (!died(view) || !told.insert(unordered(*view.pair)).second) continue;
    out.push_back(candidate_of(*view.pair, deaths.at(view.pair->from) > deaths.at(view.pair->to)));
  }
  return out;
}

}  // namespace plumbline
