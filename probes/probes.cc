#include <fmt/format.h>

#include <algorithm>

#include "core/host/requirement.h"
#include "probes/checks.h"
#include "probes/gather/gather.h"
#include "probes/judges/judges.h"
#include "probes/probe.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

const ParamRow kPorts = {"ports", "text", "", "ports",
                         "further ports to try, such as 65432,7000-7010"};

// Runs by itself only where somebody named it: it needs parameters.
bool needs_naming(const ProbeRow& row) { return row.needs == kNeedCommand; }

struct Judged {
  const ProbeRow* row;
  std::map<std::string, std::string> params;
};

std::vector<Judged> rows_of(const std::vector<ProbeCallSpec>& calls, std::vector<Check>& checks,
                            const EvidenceSet& evidence) {
  std::vector<Judged> out;
  if (calls.empty()) {
    for (const ProbeRow& row : probe_table()) {
      if (!needs_naming(row)) out.push_back({&row, {}});
    }
    return out;
  }
  for (const ProbeCallSpec& call : calls) {
    const ProbeRow* row = find_probe(call.probe);
    if (row != nullptr && needs_naming(*row) && !call.permitted) {
      const auto run = call.params.find("run");
      const std::string label = run == call.params.end() ? std::string() : run->second;
      for (const JobHost& host : evidence.job.hosts) {
        checks.push_back(make_check({call.probe, host.name, {}, {}, label}, CheckOutcome::kSkipped,
                                    "not run: commands of a scenario need --allow-commands"));
      }
      continue;
    }
    if (row != nullptr) {
      out.push_back({row, call.params});
      continue;
    }
    for (const JobHost& host : evidence.job.hosts) {
      checks.push_back(
          make_check({call.probe, host.name}, CheckOutcome::kUnknown, "no such probe"));
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Judged& a, const Judged& b) { return a.row->rung < b.row->rung; });
  return out;
}

}  // namespace

const std::vector<ProbeRow>& probe_table() {
  // In ladder order: what a later rung needs, an earlier one has asked about.
  static const std::vector<ProbeRow> kTable = {
      {{"config", "the files make sense; all ranks and agents have the same options", {}, {}, {}},
       10,
       kNeedSnapshot,
       judge_config},
      {{"ports", "the port plan: apart, inside the range, free, or held by whom", {}, {}, {}},
       20,
       kNeedSnapshot | kNeedConnect,
       judge_ports},
      {{"name", "the host's own name gives its data address", {}, {}, {}},
       30,
       kNeedSnapshot,
       judge_name},
      {{"ssh", "the ssh login works where hosts are reached by it", {}, {}, {}},
       35,
       kNeedSnapshot,
       judge_ssh},
      {{"launch", "an agent answers on every host, of the same version", {}, {}, {}},
       40,
       kNeedSnapshot,
       judge_launch},
      {{"host",
        "socket buffers, cores, load, clock, limits and leftovers fit a measurement",
        {},
        {},
        {}},
       50,
       kNeedSnapshot,
       judge_host},
      {{"link", "interfaces are there, up, have a signal, and count no errors", {}, {}, {}},
       60,
       kNeedSnapshot,
       judge_link},
      {{"ip", "data addresses are on their hosts, once, with the right mask", {}, {}, {}},
       70,
       kNeedSnapshot | kNeedNeighbours,
       judge_ip},
      {{"neighbour", "every host on a link answers for its address, and only it", {}, {}, {}},
       80,
       kNeedSnapshot | kNeedRoutes | kNeedNeighbours,
       judge_neighbour},
      {{"route", "packets to a peer leave by the data interface", {}, {}, {}},
       90,
       kNeedSnapshot | kNeedRoutes,
       judge_route},
      {{"icmp",
        "echo between every two hosts: answers, round trip, loss",
        {},
        {{"max_ms", "number", "", "ms", "warn when even the fastest round trip took longer"}},
        {}},
       100,
       kNeedSnapshot | kNeedPing,
       judge_icmp},
      {{"firewall", "packet filters let the job's ports through", {}, {}, {}},
       110,
       kNeedSnapshot | kNeedConnect,
       judge_firewall},
      {{"tcp.connect",
        "a connection to every port of the job, between every two hosts",
        {},
        {kPorts},
        {}},
       120,
       kNeedSnapshot | kNeedRoutes | kNeedNeighbours | kNeedConnect,
       judge_tcp_connect},
      {{"mtu", "large packets arrive as well as small ones", {}, {}, {}},
       130,
       kNeedSnapshot | kNeedConnect | kNeedMtu,
       judge_mtu},
      {{"quality", "round trip, loss, rate of every direction", {}, {}, {}},
       140,
       kNeedSnapshot | kNeedConnect | kNeedQuality,
       judge_quality},
      {{"rdma", "verbs library, devices, port state, GIDs, locked memory", {}, {}, {}},
       150,
       kNeedSnapshot,
       judge_rdma},
      {{"command",
        "the same read-only command on every host, its output compared",
        {},
        {{"run", "text", "", "",
          "the command: a list of words, or one text that is split at blanks; no shell; "
          "only with --allow-commands"},
         {"match", "text", "", "",
          "regular expression that the output must match; default: equal"}},
        {}},
       160,
       kNeedCommand,
       judge_command},
  };
  return kTable;
}

const ProbeRow* find_probe(const std::string& name) {
  for (const ProbeRow& row : probe_table()) {
    if (row.descriptor.name == name) return &row;
  }
  return nullptr;
}

ProbeResult run_probes(ProbeContext context, const std::vector<ProbeCallSpec>& calls) {
  std::vector<Check> ignored;
  unsigned needs = 0;
  for (const Judged& judged : rows_of(calls, ignored, context.evidence)) needs |= judged.row->needs;
  std::vector<std::string> traces;
  gather_evidence(context, needs, calls, traces);
  ProbeResult result = judge_evidence(std::move(context.evidence), calls);
  result.traces = std::move(traces);
  return result;
}

ProbeResult judge_evidence(EvidenceSet evidence, const std::vector<ProbeCallSpec>& calls) {
  evidence = shown_evidence(std::move(evidence));
  ProbeResult result;
  for (const Judged& judged : rows_of(calls, result.checks, evidence)) {
    std::vector<Check> checks = judged.row->judge(evidence, judged.params);
    std::move(checks.begin(), checks.end(), std::back_inserter(result.checks));
  }
  result.findings = find_causes(evidence, result.checks);
  result.evidence = std::move(evidence);
  return result;
}

}  // namespace plumbline
