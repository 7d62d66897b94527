// `plumbline doctor`: probes the hosts of a scenario or host file, live or from recorded evidence,
// and says what is wrong and how to heal it.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/bundle.h"
#include "cli/commands.h"
#include "cli/doctor_run.h"
#include "cli/interrupts.h"
#include "cli/options_source.h"
#include "cli/peer.h"
#include "cli/scenario_source.h"
#include "cli/status_line.h"
#include "cli/vocabulary.h"
#include "core/temporary_folder.h"
#include "launch/process.h"
#include "probes/port_list.h"
#include "probes/sources/source.h"
#include "reports/doctor.h"

namespace plumbline {
namespace {

constexpr size_t kMostPorts = 512;
constexpr int64_t kDeepIdleSeconds = 60, kMaxIdleSeconds = 3600;

// A scenario brings its options along, a host file only hosts; without a file two ranks on this
// machine.
std::optional<Scenario> what_to_look_at(const std::string& file, Context& context) {
  Scenario scenario;
  scenario.file = file;
  scenario.hosts = local_hosts(2);
  if (file.empty()) return scenario;
  std::optional<std::vector<ScenarioHost>> hosts = read_hosts(file, context);
  if (!hosts) return std::nullopt;
  if (auto whole = load_scenario(file, make_vocabulary())) return std::move(*whole);
  scenario.hosts = std::move(*hosts);
  return scenario;
}

Error usage(std::string what, std::string hint) {
  return Error{ErrorCode::kUsage, std::move(what), 0, std::move(hint), ""};
}

// The named probes; an error for a name that no row has.
Expected<std::vector<ProbeCallSpec>> calls_of(const Args& args, const Scenario& scenario) {
  std::vector<ProbeCallSpec> calls;
  for (const std::string& name : args.all("only")) {
    if (find_probe(name) != nullptr) {
      // With the parameters that the scenario gives it.
      ProbeCallSpec call{name, {}};
      for (const ProbeCall& own : scenario.probes) {
        if (own.probe == name) call.params = own.params;
      }
      calls.push_back(std::move(call));
      continue;
    }
    std::vector<std::string> names;
    for (const ProbeRow& row : probe_table()) names.push_back(row.descriptor.name);
    const std::string near = nearest_name(name, names);
    return fail(usage("no probe '" + name + "'",
                      near.empty() ? "see plumbline list probes" : "did you mean " + near + "?"));
  }
  return calls;
}

Status read_ports(const Args& args, DiagnoseRequest& request) {
  if (args.has("ports")) {
    Expected<std::vector<int>> ports = parse_port_list(args.get("ports"));
    if (!ports) return fail(ports.error());
    if (ports->empty() || ports->size() > kMostPorts) {
      return fail(usage("--ports '" + args.get("ports") + "' must name 1 to 512 ports",
                        "give a range such as 29600-29603"));
    }
    request.ranks = static_cast<int>(ports->size());
    request.ports = std::move(*ports);
  }
  if (args.has("ranks")) request.ranks = std::atoi(args.get("ranks").c_str());
  if (request.ranks < 1 || request.ranks > 65535) {
    return fail(usage("--ranks must be from 1 to 65535", ""));
  }
  return {};
}

int print_result(const ProbeResult& result, const Args& args, Context& context) {
  const DoctorReport report = report_of(result);
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
          context, usage("write " + args.get("save") + " failed", "choose a writable place"));
    }
  }
  if (args.has("bundle")) {
    const Status written = write_bundle(args.get("bundle"), result);
    if (!written) return usage_failure(context, written.error());
    *context.err << "plumbline: wrote " << args.get("bundle") << "\n";
  }
  if (args.has("fix-plan")) {
    *context.out << doctor_fix_plan(report);
  } else {
    *context.out << (args.has("json") ? doctor_json(report)
                                      : doctor_text(report, context.width, context.out_is_terminal,
                                                    args.has("verbose")));
  }
  return std::string_view(doctor_verdict(report)) == "fail" ? 2 : 0;
}

// Files of collect.sh (one per host), or one file of saved evidence.
int diagnose_files(const Args& args, Context& context) {
  const std::vector<std::string> paths = args.all("from");
  std::ifstream file(paths[0], std::ios::binary);
  if (!file) {
    return usage_failure(context, usage("cannot read " + paths[0], "give files of collect.sh"));
  }
  Expected<EvidenceSet> evidence = fail(ErrorCode::kConfig, "");
  if (paths.size() == 1 && (file >> std::ws).peek() == '{') {
    std::ostringstream text;
    text << file.rdbuf();
    evidence = parse_evidence(text.str());
    if (!evidence) evidence.error().what = paths[0] + ": " + evidence.error().what;
  } else {
    evidence = read_collected_files(paths);
  }
  if (!evidence) return usage_failure(context, evidence.error());
  return print_result(judge_evidence(std::move(*evidence)), args, context);
}

}  // namespace

int run_doctor(const Args& args, Context& context) {
  if (args.has("from")) return diagnose_files(args, context);
  std::optional<Scenario> scenario = what_to_look_at(args.get("file", args.get("hosts")), context);
  if (!scenario) return 1;
  const auto options = resolve_options(args, scenario->config);
  if (!options) return usage_failure(context, options.error());
  std::optional<Peer> peer;
  if (args.has("peer")) {
    Expected<Peer> found = find_peer(args, *options);
    if (!found) return usage_failure(context, found.error());
    peer = std::move(*found);
    scenario->hosts = peer->hosts;
  }
  const Expected<std::string> program = own_program_path();
  if (!program) return usage_failure(context, program.error());

  DiagnoseRequest request;
  request.scenario = &*scenario;
  request.options = &*options;
  request.program = *program;
  request.ranks = std::max(2, places(scenario->hosts));
  if (const Status ports = read_ports(args, request); !ports) {
    return usage_failure(context, ports.error());
  }
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
  StatusLine line(*context.err, context.err_is_terminal, context.width);
  request.progress = [&line](const std::string& text) { line.show(text); };

  watch_interrupts();
  AgentSet agents(scenario->hosts, *program, *options);
  if (peer && peer->agent) agents.put(1, std::move(*peer->agent));
  const ProbeResult result = diagnose(request, agents);
  line.clear();
  if (interrupts() > 0) {
    *context.err << "plumbline: interrupted\n";
    return 130;
  }
  return print_result(result, args, context);
}

}  // namespace plumbline
