// `plumbline doctor`: probes the hosts of a scenario or host file, and says what is wrong and how
// to heal it.

#include "cli/commands.h"
#include "cli/doctor_run.h"
#include "cli/options_source.h"
#include "cli/scenario_source.h"
#include "cli/vocabulary.h"
#include "probes/port_list.h"
#include "reports/doctor.h"

namespace plumbline {
namespace {

// A scenario brings its options along, a host file only hosts; without a file two ranks on this
// machine.
std::optional<Scenario> what_to_look_at(const std::string& file, Context& context) {
  Scenario scenario;
  scenario.hosts = local_hosts(2);
  if (file.empty()) return scenario;
  std::optional<std::vector<ScenarioHost>> hosts = read_hosts(file, context);
  if (!hosts) return std::nullopt;
  if (auto whole = load_scenario(file, make_vocabulary())) return std::move(*whole);
  scenario.hosts = std::move(*hosts);
  return scenario;
}

}  // namespace

int run_doctor(const Args& args, Context& context) {
  const std::optional<Scenario> scenario =
      what_to_look_at(args.get("file", args.get("hosts")), context);
  if (!scenario) return 1;
  Args with_ports = args;
  int ranks = std::max(2, places(scenario->hosts));
  if (args.has("ranks")) ranks = std::atoi(args.get("ranks").c_str());
  if (args.has("ports")) {
    const Expected<std::vector<int>> ports = parse_port_list(args.get("ports"));
    if (!ports) return usage_failure(context, ports.error());
    const bool window =
        !ports->empty() && ports->back() - ports->front() + 1 == static_cast<int>(ports->size());
    if (!window) {
      return usage_failure(
          context, Error{ErrorCode::kUsage, "--ports '" + args.get("ports") + "' is not one window",
                         0, "give a range such as 29600-29603", ""});
    }
    ranks = static_cast<int>(ports->size());
    with_ports.options["port_base"] = std::to_string(ports->front());
  }
  if (ranks < 1 || ranks > 65535) {
    return usage_failure(context,
                         Error{ErrorCode::kUsage, "--ranks must be from 1 to 65535", 0, "", ""});
  }
  const auto options = resolve_options(with_ports, scenario->config);
  if (!options) return usage_failure(context, options.error());
  for (const std::string& name : args.all("only")) {
    if (find_probe(name) != nullptr) continue;
    std::vector<std::string> names;
    for (const ProbeRow& row : probe_table()) names.push_back(row.descriptor.name);
    const std::string near = nearest_name(name, names);
    return usage_failure(
        context,
        Error{ErrorCode::kUsage, "no probe '" + name + "'", 0,
              near.empty() ? "see plumbline list probes" : "did you mean " + near + "?", ""});
  }
  const ProbeResult result =
      run_probes(probe_context(*scenario, *options, ranks), args.all("only"));
  const DoctorReport report{host_names(*scenario), result.checks, result.findings};
  *context.out << (args.has("json") ? doctor_json(report)
                                    : doctor_text(report, context.width, context.out_is_terminal));
  return std::string_view(doctor_verdict(report)) == "fail" ? 2 : 0;
}

}  // namespace plumbline
