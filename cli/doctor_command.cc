// `plumbline doctor`: probes the hosts of a scenario or host file, live or from recorded evidence,
// and says what is wrong and how to heal it.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/diagnosis_archive.h"
#include "cli/options_source.h"
#include "cli/peer.h"
#include "cli/plain_caller.h"
#include "cli/progress.h"
#include "cli/scenario_source.h"
#include "cli/stack_request.h"
#include "core/file.h"
#include "core/text.h"
#include "probes/ports.h"
#include "probes/sources/collected.h"
#include "reports/doctor.h"
#include "runs/doctor_run.h"
#include "runs/hosts/agent_set.h"
#include "runs/job_run.h"
#include "scenarios/host_files/host_file.h"

namespace plumbline {
namespace {

constexpr size_t kMostPorts = 512;
constexpr int64_t kDeepIdleSeconds = 60, kMaxIdleSeconds = 3600;
constexpr const char* kThisMachine = "here";

// Means nothing without what a scenario says.
bool is_scenarios_own(const std::string& probe) {
  return probe == kCommandProbe || probe == kEndpointProbe || probe == kArtifactProbe;
}

// Whether it does without, or gives a probe that every diagnosis has parameters of its own.
bool has_own_params(const ProbeCall& call) {
  return call.probe == kSoftwareProbe && !call.params.empty();
}

// All probes, and the scenario's commands, servers and files where it has any.
std::vector<ProbeCallSpec> all_calls(const Scenario& scenario, bool permitted) {
  std::vector<ProbeCallSpec> extra;
  bool software = false;
  for (const ProbeCall& own : scenario.probes) {
    if (!is_scenarios_own(own.probe) && !has_own_params(own)) continue;
    extra.push_back(probe_call(own, permitted));
    software = software || own.probe == kSoftwareProbe;
  }
  if (extra.empty()) return {};  // no call stands for all
  std::vector<ProbeCallSpec> calls;
  for (const ProbeRow& row : probe_table()) {
    const std::string& name = row.descriptor.name;
    if (is_scenarios_own(name) || (software && name == kSoftwareProbe)) continue;
    calls.push_back({name, {}});
  }
  calls.insert(calls.end(), extra.begin(), extra.end());
  return calls;
}

// The named probes; an error for a name that no row has.
Expected<std::vector<ProbeCallSpec>> calls_of(const Args& args, const Scenario& scenario) {
  const bool permitted = args.has(kAllowCommands) || args.has("from");  // which runs nothing
  if (args.all("only").empty()) return all_calls(scenario, permitted);
  std::vector<ProbeCallSpec> calls;
  for (const std::string& name : args.all("only")) {
    if (find_probe(name) != nullptr) {
      // With the parameters that the scenario gives it.
      const size_t before = calls.size();
      for (const ProbeCall& own : scenario.probes) {
        if (own.probe == name) calls.push_back(probe_call(own, permitted));
      }
      ProbeCall plain;
      plain.probe = name;
      if (calls.size() == before && name == kEndpointProbe && !args.has("from")) {
        return fail(usage_error("the probe 'endpoint' needs the URL of a server",
                                R"(give a scenario with {"probe": "endpoint", "url": "http://)"
                                R"(mini1:8080"} in its "probes")"));
      }
      if (calls.size() == before) calls.push_back(probe_call(plain, permitted));
      continue;
    }
    std::vector<std::string> names;
    for (const ProbeRow& row : probe_table()) names.push_back(row.descriptor.name);
    return fail(
        usage_error("no probe '" + name + "'", near_or(name, names, "see plumbline list probes")));
  }
  return calls;
}

Status read_ports(const Args& args, DiagnoseRequest& request) {
  if (args.has("ports")) {
    Expected<std::vector<int>> ports = parse_port_list(args.get("ports"));
    if (!ports) return fail(ports.error());
    if (ports->empty() || ports->size() > kMostPorts) {
      return fail(usage_error("--ports '" + args.get("ports") + "' must name 1 to 512 ports",
                              "give a range such as 29600-29603"));
    }
    request.ranks = static_cast<int>(ports->size());
    request.ports = std::move(*ports);
  }
  const Expected<int64_t> ranks = flag_number(args, "ranks", request.ranks, 1, 65535);
  if (!ranks) return fail(ranks.error());
  request.ranks = static_cast<int>(*ranks);
  return {};
}

// Before anything is measured, so that nothing measured is lost for want of a place.
Status places_to_write(const Args& args) {
  for (const char* name : {"save", "bundle"}) {
    if (!args.has(name)) continue;
    const std::string path = args.get(name);
    const bool there = std::filesystem::exists(path);
    errno = 0;
    if (!std::ofstream(path, std::ios::app)) {
      return fail_errno(ErrorCode::kUsage, "write " + path, errno, "choose a writable place");
    }
    if (!there) std::filesystem::remove(path);
  }
  if (args.has("traces")) {
    const std::string folder = args.get("traces");
    std::error_code problem;
    std::filesystem::create_directories(folder, problem);
    if (problem || access(folder.c_str(), W_OK) != 0) {
      return fail(usage_error("--traces " + folder + " is no folder that can be written to",
                              problem ? problem.message() : "choose another"));
    }
  }
  return {};
}

int print_result(const ProbeResult& result, const Args& args, Context& context) {
  const DoctorReport report = only_asked(report_of(result), args.all("only"));
  if (args.has("traces")) {
    for (const std::string& path : result.traces) {
      *context.err << "plumbline: trace " << path << "\n";
    }
  }
  if (args.has("save")) {
    std::ofstream file(args.get("save"));
    file << evidence_text(result.evidence);
    if (!file.flush()) {
      return usage_failure(
          context, usage_error("write " + args.get("save") + " failed", "choose a writable place"));
    }
  }
  if (args.has("bundle")) {
    const Status written = write_diagnosis_archive(args.get("bundle"), result);
    if (!written) return usage_failure(context, written.error());
    *context.err << "plumbline: wrote " << args.get("bundle") << "\n";
  }
  if (args.has("fix-plan")) {
    *context.out << doctor_fix_plan(report);
  } else {
    *context.out << (args.has("json") ? doctor_json(report)
                                      : doctor_text(report, context.width, context.out_colour,
                                                    args.has("verbose")));
  }
  return std::string_view(doctor_verdict(report)) == "fail" ? 2 : 0;
}

// What is asked about comes from one place only: a file, --hosts, --peer or --from.
Status one_subject(const Args& args) {
  const std::vector<std::string> files = args.all("file");
  for (const char* name : {"hosts", "from", "peer", "job"}) {
    if (args.has(name) && args.get(name).empty()) {
      return fail(
          usage_error(std::string("--") + name + " is empty", "an unset variable of the shell?"));
    }
  }
  if (args.has("env") && !args.has("stack")) {
    return fail(usage_error("--env says what a stack gets, and --stack names none",
                            "add --stack NAME, or leave --env out"));
  }
  if (args.has("from")) {
    for (const char* other : {"hosts", "peer", "stack", "job", "model"}) {
      if (args.has(other)) {
        return fail(usage_error(std::string("--from and --") + other + " exclude each other",
                                "--from looks at files alone, and asks no host"));
      }
    }
    return {};
  }
  if (args.has("job")) {
    for (const char* other : {"peer", "only", "ports", "ranks", "idle", "stack", "model"}) {
      if (args.has(other)) {
        return fail(usage_error(std::string("--job and --") + other + " exclude each other",
                                "--job asks what the job itself does and uses"));
      }
    }
  }
  const size_t subjects = files.size() + args.all("hosts").size() + (args.has("peer") ? 1 : 0);
  if (subjects <= 1) return {};
  return fail(
      usage_error("doctor looks at one file, or --hosts FILE, or --peer ADDRESS, not at several",
                  "files of collect.sh are given with --from"));
}

// Files of collect.sh (one per host), or one file of saved evidence.
int diagnose_files(const Args& args, Context& context) {
  const Expected<std::vector<ProbeCallSpec>> calls = calls_of(args, {});
  if (!calls) return usage_failure(context, calls.error());
  std::vector<std::string> paths = args.all("from");
  const std::vector<std::string> more = args.all("file");  // --from a b c
  paths.insert(paths.end(), more.begin(), more.end());
  Expected<EvidenceSet> evidence = read_evidence_files(paths);
  if (!evidence) return usage_failure(context, evidence.error());
  for (const HostEvidence& host : evidence->hosts) {
    for (const std::string& problem : host.unreadable) {
      if (problem.rfind("collect.sh: ", 0) != 0) continue;
      *context.err << printable("plumbline: the file of " + host.name + ": " + problem.substr(12))
                   << "; what it lacks is unknown\n";
    }
  }
  const bool of_job = evidence->job_seen && args.all("only").empty();
  const std::vector<ProbeCallSpec> judges = of_job ? job_calls(*evidence) : *calls;
  return print_result(judge_evidence(std::move(*evidence), judges), args, context);
}

}  // namespace

int run_doctor(const Args& args, Context& context) {
  if (const Status one = one_subject(args); !one) return usage_failure(context, one.error());
  if (const Status places = places_to_write(args); !places) {
    return usage_failure(context, places.error());
  }
  if (args.has("from")) return diagnose_files(args, context);
  std::optional<Scenario> scenario = read_scenario_or_hosts(args, args.has("job") ? 1 : 2, context);
  if (!scenario) return 1;
  std::optional<JobQuestion> job;
  if (args.has("job")) {
    if (scenario->file.empty()) scenario->hosts.at(0).name = kThisMachine;
    Expected<JobQuestion> question = parse_job_question(args.get("job"), host_names(*scenario));
    if (!question) return usage_failure(context, question.error());
    job = std::move(*question);
  }
  if (const Status models = add_models(args, *scenario); !models) {
    return usage_failure(context, models.error());
  }
  const auto options = resolve_options(args, scenario->config);
  if (!options) return usage_failure(context, options.error());
  std::optional<Peer> peer;
  if (args.has("peer")) {
    Expected<Peer> found = find_peer(args, *options);
    if (!found) return usage_failure(context, found.error());
    peer = std::move(*found);
    scenario->hosts = peer->hosts;
  }

  DiagnoseRequest request;
  request.scenario = &*scenario;
  request.options = &*options;
  PlainCaller caller(*context.err);
  if (const Status counted = count_core_places(scenario->hosts, *options, caller); !counted) {
    usage_failure(context, counted.error());  // the ladder says what is wrong with these hosts
  }
  request.ranks = std::max(2, places(scenario->hosts));
  if (const Status ports = read_ports(args, request); !ports) {
    return usage_failure(context, ports.error());
  }
  if (const Status keys = check_keys(*scenario); !keys) return usage_failure(context, keys.error());
  Expected<std::vector<ProbeCallSpec>> calls = calls_of(args, *scenario);
  if (!calls) return usage_failure(context, calls.error());
  request.calls = std::move(*calls);
  request.deep = args.has("deep");
  if (request.deep) request.limit_ms *= 5;
  const Expected<int64_t> idle =
      flag_number(args, "idle", request.deep ? kDeepIdleSeconds : 0, 1, kMaxIdleSeconds);
  if (!idle) return usage_failure(context, idle.error());
  request.idle_s = *idle;
  request.limit_ms += 1000 * request.idle_s;
  // A bundle holds the traces, also where the user does not want to keep them.
  const TemporaryFolder temporary;
  if (args.has("traces") || args.has("bundle")) {
    request.trace_folder = args.get("traces", temporary.path().string());
    request.keep_traces = "always";
  }
  if (args.has("stack")) {
    Expected<StackRequest> stack =
        stack_request(args, args.get("file", args.get("hosts")), scenario->hosts);
    if (!stack) return usage_failure(context, stack.error());
    request.stack = std::move(*stack);
  }
  const Expected<Reach> reach = make_reach(*options, scenario->hosts, caller);
  if (!reach) return usage_failure(context, reach.error());
  StatusLine line(*context.err, context.err_is_terminal, context.width);
  request.progress = [&line](const std::string& text) { line.show(text); };
  request.interrupted = [] { return interrupts() > 0; };

  watch_interrupts();
  AgentSet agents(scenario->hosts, *reach, *options);
  if (peer && peer->agent) agents.put(1, std::move(*peer->agent));
  if (auto found = agents.find_data_addresses()) {
    scenario->hosts = std::move(*found);
  } else {
    // The ladder says what else is wrong with these hosts.
    usage_failure(context, found.error());
  }
  Expected<ProbeResult> result = job ? diagnose_job(request, *job, scenario->file.empty(), agents)
                                     : Expected<ProbeResult>(diagnose(request, agents));
  line.clear();
  if (interrupts() > 0) {
    *context.err << "plumbline: interrupted\n";
    return 130;
  }
  if (!result) return usage_failure(context, result.error());
  return print_result(*result, args, context);
}

}  // namespace plumbline
