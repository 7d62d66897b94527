#include "runs/doctor_run.h"

#include <algorithm>
#include <sstream>

#include "core/diagnosis/finding.h"
#include "core/file.h"
#include "core/host/ip.h"
#include "core/json.h"
#include "core/ranges.h"
#include "core/record/tally.h"
#include "core/shell_words.h"
#include "probes/ports.h"
#include "probes/stacks/plan_text.h"
#include "probes/stacks/stack_gather.h"
#include "runs/hosts/port_window.h"
#include "runs/job_run.h"
#include "scenarios/placement.h"

namespace plumbline {
namespace {

// "hosts.json:7": the line on which the host's name stands; the file alone when it does not.
std::string place_in_file(const std::string& file, const std::string& name) {
  constexpr size_t kMostBytes = 1 << 20;
  std::istringstream in(read_input_file(file, kMostBytes).value_or(""));
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.find("\"" + name + "\"") != std::string::npos) {
      return file + ":" + std::to_string(number);
    }
  }
  return file;
}

// How a person would write it: "-p 2222 -i ~/.ssh/cluster me@mini1".
std::string shown_ssh(const ScenarioHost& host) {
  std::vector<std::string> words;
  if (host.port != 0) words.insert(words.end(), {"-p", std::to_string(host.port)});
  if (!host.key.empty()) words.insert(words.end(), {"-i", host.key});
  if (!host.user.empty()) words.insert(words.end(), {"-l", host.user});
  words.push_back(host.ssh);
  return shell_line(words);
}

std::vector<int> window_of(const DiagnoseRequest& request) {
  if (!request.ports.empty()) return request.ports;
  // With "auto" the probes look at the window that a run would choose now; a busy fixed one is
  // theirs to report.
  const OptionSet& options = *request.options;
  const int base =
      options.text("port_base") == "auto"
          ? choose_port_base(options, request.scenario->hosts, request.ranks).value_or(29600)
          : static_cast<int>(options.integer("port_base"));
  std::vector<int> ports;
  for (int port = base; port < base + request.ranks && port <= 65535; ++port) ports.push_back(port);
  return ports;
}

// Skipped because all hosts are this machine. A port that something harmless holds, a command that
// nobody permitted and files that nobody named were skipped for a reason of their own.
bool lacks_second_machine(const Job& job, const Check& check) {
  const bool here = std::all_of(job.hosts.begin(), job.hosts.end(),
                                [](const JobHost& host) { return host.reached_by == "local"; });
  return here && check.outcome == CheckOutcome::kSkipped && !check.port &&
         check.id != kCommandProbe && check.id != kArtifactProbe;
}

// Who the ranks are, and what their environment holds.
StackQuestion question_of(const DiagnoseRequest& request) {
  const StackRequest& stack = *request.stack;
  const std::vector<ScenarioHost>& hosts = request.scenario->hosts;
  StackQuestion question;
  question.shell = stack.shell;
  question.files = stack.files;
  WorldShape world;
  world.ranks = request.ranks;
  for (const size_t host : place_ranks(hosts, world)) question.hosts.push_back(hosts[host].name);
  const bool here =
      std::all_of(hosts.begin(), hosts.end(), [](const ScenarioHost& host) { return host.local; });
  for (size_t rank = 0; rank < question.hosts.size(); ++rank) {
    StackEnvironment& environment = question.environment.emplace_back();
    if (here) environment = stack.shell;  // a job started here gets all of it
    if (rank < stack.rank_variables.size()) {
      for (const auto& [name, value] : stack.rank_variables[rank]) environment[name] = value;
    }
    for (const StackRequest::Variable& each : stack.variables) {
      if (each.host.empty() || each.host == question.hosts[rank]) {
        environment[each.name] = each.value;
      }
    }
  }
  return question;
}

}  // namespace

NicAddress data_address(const std::string& text) {
  const Cidr cidr = parse_cidr(text);
  return {cidr.ip, cidr.prefix, is_v6(cidr.ip), is_link_local_ip(cidr.ip), is_loopback_ip(cidr.ip)};
}

std::vector<std::string> host_names(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const ScenarioHost& host : scenario.hosts) names.push_back(host.name);
  return names;
}

Job job_of(const DiagnoseRequest& request) {
  Job job;
  job.file = request.scenario->file;
  const std::vector<ScenarioHost>& hosts = request.scenario->hosts;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const ScenarioHost& host = hosts[i];
    JobHost out;
    out.name = host.name;
    out.data = host.data;
    out.interface = host.interface;
    out.speed = host.speed;
    out.reached_by = host.local            ? "local"
                     : !host.netns.empty() ? "netns"
                     : host.ssh.empty()    ? ""
                                           : "ssh";
    if (!host.ssh.empty()) out.ssh = shown_ssh(host);
    out.where = job.file.empty() ? "" : place_in_file(job.file, host.name);
    for (size_t j = 0; j < hosts.size(); ++j) {
      const std::string why = talk_reason(hosts, i, j);
      if (!why.empty()) out.apart[hosts[j].name] = why;
    }
    for (size_t j = 0; j < host.rdma.size(); ++j) {
      const std::vector<std::string>& cell = host.rdma[j];
      if (!cell.empty() && j < hosts.size()) out.rdma_towards[hosts[j].name] = cell;
      for (const std::string& device : cell) {
        if (!is_in(out.rdma_devices, device)) out.rdma_devices.push_back(device);
      }
    }
    job.hosts.push_back(std::move(out));
  }
  job.coordinator = request.scenario->coordinator;
  job.ranks = request.ranks;
  job.ports = window_of(request);
  job.port_base = job.ports.empty() ? 0 : job.ports.front();
  job.master_port = static_cast<int>(request.options->integer("master_port"));
  job.ports.push_back(job.master_port);
  std::sort(job.ports.begin(), job.ports.end());
  job.ports.erase(std::unique(job.ports.begin(), job.ports.end()), job.ports.end());
  for (const ProbeCallSpec& call : request.calls) {
    const auto ports = call.params.find("ports");
    if (ports == call.params.end()) continue;
    for (const int port : parse_port_list(ports->second).value_or(std::vector<int>{})) {
      const bool known = std::find(job.ports.begin(), job.ports.end(), port) != job.ports.end();
      if (!known) job.extra_ports.push_back(port);
    }
  }
  job.rdma = request.options->text("transport") == "rdma" ||
             any_of(job.hosts, [](const JobHost& host) { return !host.rdma_devices.empty(); });
  job.rdma_or_tcp = request.over_tcp_too;
  job.deep = request.deep;
  job.idle_s = request.idle_s;
  for (const auto& [name, value] : request.options->values()) job.config[name] = value.value;
  return job;
}

ProbeContext probe_context(const DiagnoseRequest& request, const AgentSet& agents) {
  ProbeContext context;
  context.agents = agents.agents();
  context.evidence.suite_version = PLUMBLINE_VERSION;
  context.evidence.time = utc_now_rfc3339();
  context.evidence.job = job_of(request);
  context.evidence.hosts = agents.greetings();
  context.deadline = Deadline::after_ms(request.limit_ms);
  context.progress = request.progress;
  context.trace_folder = request.trace_folder;
  context.keep_traces = request.keep_traces;
  if (request.interrupted) context.interrupted = request.interrupted;
  return context;
}

ProbeResult diagnose(const DiagnoseRequest& request, const AgentSet& agents) {
  ProbeContext context = probe_context(request, agents);
  if (request.stack) {
    const StackRequest& stack = *request.stack;
    context.evidence.job.problems.insert(context.evidence.job.problems.end(),
                                         stack.problems.begin(), stack.problems.end());
    plan_for_hosts(context, *stack.row, question_of(request));
  }
  return run_probes(std::move(context), request.calls);
}

DoctorReport report_of(const ProbeResult& result) {
  DoctorReport report;
  for (const JobHost& host : result.evidence.job.hosts) report.hosts.push_back(host.name);
  if (!result.evidence.job_seen) report.plan = stack_lines(result.evidence);
  if (result.evidence.stack) {
    report.stack = std::make_shared<const nlohmann::json>(*result.evidence.stack);
  }
  report.checks = result.checks;
  report.job = shown_job(result.evidence);
  report.findings = result.findings;
  for (const ProbeRow& row : probe_table()) {
    report.probes[row.descriptor.name] = row.descriptor.help;
  }
  for (const Check& check : result.checks) {
    if (lacks_second_machine(result.evidence.job, check)) report.one_machine.insert(check.key);
  }
  return report;
}

bool has_failure(const ProbeResult& result) {
  return health_of(result.checks, result.findings) == Health::kFail;
}

std::vector<std::string> finding_lines(const ProbeResult& result) {
  constexpr size_t kListed = 10;
  std::vector<std::string> lines = {"plumbline: probes: " +
                                    tally_of(result.checks, result.findings).text()};
  for (const Finding& finding : result.findings) {
    std::string text = std::string(to_string(finding.outcome)) + ": " + title_of(finding);
    if (!finding.evidence.empty()) text += ": " + finding.evidence.front().text;
    lines.push_back("  " + text);
    std::string label = "    remedy: ";
    for (const RemedyStep& step : finding.remedy.steps()) {
      lines.push_back(label + step.text);
      label = "            ";
    }
  }
  const std::vector<const Check*> broken = unexplained_failures(result.checks, result.findings);
  for (size_t i = 0; i < std::min(broken.size(), kListed); ++i) {
    lines.push_back("  fail: " + broken[i]->key + ": " + broken[i]->reason);
  }
  if (broken.size() > kListed) {
    lines.push_back("  ... and " + std::to_string(broken.size() - kListed) +
                    " more failed checks (doctor.json)");
  }
  return lines;
}

}  // namespace plumbline
