#include <fmt/format.h>

#include <algorithm>

#include "core/requirement.h"
#include "probes/checks.h"
#include "probes/host.h"
#include "probes/ip.h"
#include "probes/link.h"
#include "probes/name.h"
#include "probes/ports.h"
#include "probes/probe.h"
#include "probes/tcp_connect.h"

namespace plumbline {
namespace {

ProbeResult for_every_host(const ProbeContext& context, const std::string& id, CheckOutcome outcome,
                           const std::string& reason) {
  ProbeResult result;
  for (const ProbeHost& host : context.hosts) {
    result.checks.push_back(make_check({id, host.name}, outcome, reason));
  }
  return result;
}

ProbeResult run_one(const ProbeRow& row, const ProbeContext& context) {
  std::vector<const char*> needs;
  for (const std::string& word : row.descriptor.requires_) needs.push_back(word.c_str());
  if (const auto reason = unmet(needs)) {
    return for_every_host(context, row.descriptor.name, CheckOutcome::kSkipped, *reason);
  }
  if (context.deadline.passed()) {
    return for_every_host(context, row.descriptor.name, CheckOutcome::kUnknown,
                          "no time was left to ask");
  }
  return row.run(context);
}

}  // namespace

const std::vector<ProbeRow>& probe_table() {
  // In ladder order: what a later rung needs, an earlier one has asked about.
  static const std::vector<ProbeRow> kTable = {
      {{"ports", "the port plan: apart, inside the range, free, or held by whom", {}, {}, {}},
       10,
       probe_ports},
      {{"name", "the host's own name does not mean loopback", {}, {}, {}}, 20, probe_name},
      {{"host",
        "socket buffers, cores, load, governor, clock and limits fit a measurement",
        {},
        {},
        {}},
       30,
       probe_host},
      {{"link", "interfaces are there, up, and have a signal", {}, {}, {}}, 40, probe_link},
      {{"ip", "data addresses are on their hosts, with the right mask", {}, {}, {}}, 50, probe_ip},
      {{"tcp.connect",
        "a connection to every port of the job, between every two hosts",
        {},
        {{"ports", "text", "", "ports", "further ports to try, such as 65432,7000-7010"},
         {"timeout", "duration", "1500ms", "", "longest wait for a connection"}},
        {}},
       60,
       probe_tcp_connect},
  };
  return kTable;
}

const ProbeRow* find_probe(const std::string& name) {
  for (const ProbeRow& row : probe_table()) {
    if (row.descriptor.name == name) return &row;
  }
  return nullptr;
}

ProbeResult run_probes(const ProbeContext& context, const std::vector<std::string>& names) {
  ProbeResult result;
  for (const std::string& name : names) {
    if (find_probe(name) == nullptr) {
      append(result, for_every_host(context, name, CheckOutcome::kUnknown, "no such probe"));
    }
  }
  for (const ProbeRow& row : probe_table()) {
    const bool wanted =
        names.empty() || std::find(names.begin(), names.end(), row.descriptor.name) != names.end();
    if (wanted) append(result, run_one(row, context));
  }
  merge_findings(result.findings);
  return result;
}

}  // namespace plumbline
