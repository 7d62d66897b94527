#include "cli/doctor_run.h"

#include <algorithm>
#include <cstdlib>

#include "cli/port_window.h"
#include "probes/checks.h"

namespace plumbline {
namespace {

constexpr int64_t kProbeSeconds = 60;  // all probes together

}  // namespace

NicAddress data_address(const std::string& text) {
  NicAddress address;
  const size_t slash = text.find('/');
  address.ip = text.substr(0, slash);
  address.v6 = address.ip.find(':') != std::string::npos;
  if (slash != std::string::npos) address.prefix = std::atoi(text.c_str() + slash + 1);
  address.loopback = address.ip.rfind("127.", 0) == 0 || address.ip == "::1";
  address.link_local = address.ip.rfind("169.254.", 0) == 0 || address.ip.rfind("fe80", 0) == 0;
  return address;
}

std::vector<std::string> host_names(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const ScenarioHost& host : scenario.hosts) names.push_back(host.name);
  return names;
}

ProbeContext probe_context(const Scenario& scenario, const OptionSet& options, int ranks) {
  ProbeContext context;
  for (const ScenarioHost& host : scenario.hosts) {
    ProbeHost probe_host;
    probe_host.name = host.name;
    for (const std::string& text : host.data) probe_host.data.push_back(data_address(text));
    context.hosts.push_back(std::move(probe_host));
  }
  context.ranks = ranks;
  // With "auto" the probes look at the window that a run would choose now; a busy fixed one is
  // theirs to report.
  const std::string& text = options.text("port_base");
  if (text != "auto") {
    context.port_base = std::atoi(text.c_str());
  } else if (const Expected<int> base = choose_port_base(options, scenario.hosts, ranks)) {
    context.port_base = *base;
  }
  context.master_port = static_cast<int>(options.integer("master_port"));
  context.options = &options;
  context.facts = read_host_facts();
  context.deadline = Deadline::after_ns(kProbeSeconds * kSecond);
  return context;
}

ProbeResult run_scenario_probes(const Scenario& scenario, const OptionSet& options, int ranks) {
  ProbeContext context = probe_context(scenario, options, ranks);
  ProbeResult all;
  for (const ProbeCall& call : scenario.probes) {
    context.params = call.params;
    ProbeResult one = run_probes(context, {call.probe});
    all.checks.insert(all.checks.end(), one.checks.begin(), one.checks.end());
    all.findings.insert(all.findings.end(), one.findings.begin(), one.findings.end());
  }
  merge_findings(all.findings);
  return all;
}

void print_findings(const std::vector<Check>& checks, const std::vector<Finding>& findings,
                    std::ostream& out) {
  const auto passed = std::count_if(checks.begin(), checks.end(), [](const Check& check) {
    return check.outcome == CheckOutcome::kPass;
  });
  out << "plumbline: probes: " << passed << " of " << checks.size() << " checks passed\n";
  for (const Finding& finding : findings) {
    out << "  " << to_string(finding.outcome) << ": " << finding.cause << " on " << finding.host;
    if (!finding.evidence.empty()) out << ": " << finding.evidence.front().text;
    out << "\n    remedy: " << finding.remedy << "\n";
  }
}

}  // namespace plumbline
