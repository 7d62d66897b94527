#include <fmt/format.h>

#include <algorithm>

#include "core/host/requirement.h"
#include "core/ranges.h"
#include "probes/checks.h"
#include "probes/gather/gather.h"
#include "probes/judges/judges.h"
#include "probes/probe.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

const ParamRow kPorts = {"ports", "text", "", "ports",
                         "further ports to try, such as 65432,7000-7010"};

bool runs_command(const ProbeRow& row) { return row.needs == kNeedCommand; }

// Runs by itself only where somebody named it: it needs parameters.
bool needs_naming(const ProbeRow& row) {
  return runs_command(row) || (row.needs & (kNeedEndpoint | kNeedArtifact)) != 0;
}

// Recorded evidence holds what was asked of a server, and which files were compared.
bool told_of(const ProbeRow& row, const EvidenceSet& evidence) {
  return any_of(evidence.hosts, [&](const HostEvidence& host) {
    return ((row.needs & kNeedEndpoint) != 0 && !host.endpoints.empty()) ||
           ((row.needs & kNeedArtifact) != 0 && !host.artifacts.empty());
  });
}

// Of a probe without parameters.
ProbeRow row(const char* name, const char* help, int rung, unsigned needs,
             decltype(ProbeRow::judge) judge) {
  return {{name, help, {}, {}, {}}, rung, needs, judge};
}

struct Judged {
  const ProbeRow* row;
  std::map<std::string, std::string> params;
};

std::vector<Judged> rows_of(const std::vector<ProbeCallSpec>& calls, std::vector<Check>& checks,
                            const EvidenceSet& evidence) {
  std::vector<Judged> out;
  if (calls.empty()) {
    for (const ProbeRow& row : probe_table()) {
      if (!needs_naming(row) || told_of(row, evidence)) out.push_back({&row, {}});
    }
    return out;
  }
  for (const ProbeCallSpec& call : calls) {
    const ProbeRow* row = find_probe(call.probe);
    if (row != nullptr && runs_command(*row) && !call.permitted) {
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
      row("config", "the files make sense; all ranks and agents have the same options", kRungConfig,
          kNeedSnapshot, judge_config),
      row("ports", "the port plan: apart, inside the range, free, or held by whom", kRungPorts,
          kNeedSnapshot | kNeedConnect, judge_ports),
      row("name", "the host's own name gives its data address", kRungName, kNeedSnapshot,
          judge_name),
      row("stack", "what the library of --stack would take, and where it would wait", kRungName,
          kNeedSnapshot, judge_stack),
      row("ssh", "the ssh login works where hosts are reached by it", 35, kNeedSnapshot, judge_ssh),
      row("launch", "an agent answers on every host, of the same version", kRungLaunch,
          kNeedSnapshot, judge_launch),
      row("host", "socket buffers, cores, load, clock, limits and leftovers fit a measurement",
          kRungHost, kNeedSnapshot, judge_host),
      {{"software",
        "the same versions of system, Python and its packages on all hosts, and the same variables "
        "for ranks",
        {},
        {{"packages", "text", "", "packages",
          "Python packages whose versions must be equal, such as mlx,mlx-lm; others only warn"},
         {"python", "text", "python3", "",
          "the interpreter whose packages count: a path, the same on all hosts (~/ = home)"}},
        {}},
       kRungHost,
       kNeedSnapshot | kNeedSoftware,
       judge_software},
      {{"artifact",
        "the same files on all hosts, such as those of a model: there, whole, equal",
        {},
        {{"path", "text", "", "paths", "folders or files, separated by commas (~/ = home)"}},
        {}},
       kRungHost,
       kNeedSnapshot | kNeedArtifact,
       judge_artifact},
      row("link", "interfaces are there, up, have a signal, and count no errors", kRungLink,
          kNeedSnapshot, judge_link),
      row("ip", "data addresses are on their hosts, once, with the right mask", kRungIp,
          kNeedSnapshot | kNeedNeighbours, judge_ip),
      row("neighbour", "every host on a link answers for its address, and only it", kRungNeighbour,
          kNeedSnapshot | kNeedRoutes | kNeedNeighbours, judge_neighbour),
      row("route", "packets to a peer leave by the data interface", kRungRoute,
          kNeedSnapshot | kNeedRoutes, judge_route),
      {{"icmp",
        "echo between every two hosts: answers, round trip, loss",
        {},
        {{"max_ms", "number", "", "ms", "warn when even the fastest round trip took longer"}},
        {}},
       kRungIcmp,
       kNeedSnapshot | kNeedPing,
       judge_icmp},
      row("firewall", "packet filters let the job's ports through", kRungFirewall,
          kNeedSnapshot | kNeedConnect, judge_firewall),
      {{"tcp.connect",
        "a connection to every port of the job, between every two hosts",
        {},
        {kPorts},
        {}},
       kRungTcp,
       kNeedSnapshot | kNeedRoutes | kNeedNeighbours | kNeedConnect,
       judge_tcp_connect},
      row("mtu", "large packets arrive as well as small ones", kRungMtu,
          kNeedSnapshot | kNeedConnect | kNeedMtu, judge_mtu),
      row("quality", "round trip, loss, rate of every direction", kRungQuality,
          kNeedSnapshot | kNeedConnect | kNeedQuality, judge_quality),
      row("rdma",
          "verbs library, devices, port state, GIDs, locked memory; where RDMA is asked for, all "
          "up "
          "to a queue pair",
          kRungRdma, kNeedSnapshot | kNeedRdma, judge_rdma),
      {{"endpoint",
        "a server of language models (OpenAI's interface): reached from every host, and its "
        "answers to a question by each way of asking",
        {},
        {{"url", "text", "", "", "where it is: http://mini1:8080"},
         {"model", "text", "", "", "the model to ask; default: the first that it has"},
         {"key_from", "text", "", "",
          "name of the environment variable here, ENDPOINT_KEY..., that holds the server's key"},
         {"silence", "number", "20", "s", "longest time in which nothing of an answer may come"}},
        {}},
       kRungEndpoint,
       kNeedSnapshot | kNeedEndpoint,
       judge_endpoint},
      {{"command",
        "the same read-only command on every host, its output compared",
        {},
        {{"run", "text", "", "",
          "the command: a list of words, or one text that is split at blanks; no shell; "
          "only with --allow-commands"},
         {"match", "text", "", "",
          "regular expression that the output must match; default: equal"}},
        {}},
       170,
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
