#include "cli/scenario_programs.h"

#include <fmt/format.h>

#include "core/json.h"
#include "reports/text.h"

namespace plumbline {
namespace {

std::vector<std::string> names_of(const std::vector<ScenarioHost>& hosts) {
  std::vector<std::string> names;
  for (const ScenarioHost& host : hosts) names.push_back(host.name);
  return names;
}

constexpr const char* kOnlyWithFlag = " (only with --allow-commands)";

}  // namespace

Permitted permitted_by(const Args& args) {
  const bool all = args.has(kAllowCommands);
  return {all, all || args.has("hosts")};
}

Status check_binaries(const std::vector<ScenarioHost>& hosts, const Permitted& permitted) {
  if (permitted.binaries) return {};
  for (const ScenarioHost& host : hosts) {
    if (host.binary.empty()) continue;
    return fail(Error{
        ErrorCode::kConfig,
        fmt::format("the scenario names a program to start on {}: {} (key `binary`)", host.name,
                    host.binary),
        0, "give --allow-commands if you trust it, or a host file of your own with --hosts FILE",
        ""});
  }
  return {};
}

ProbeCallSpec probe_call(const ProbeCall& call, bool permitted) {
  return {call.probe, call.params, call.command, permitted};
}

void print_programs(const Scenario& scenario, const Permitted& permitted, std::ostream& out) {
  for (const ProbeCall& call : scenario.probes) {
    if (call.command.empty()) continue;
    out << fmt::format("command on {}: {}{}\n",
                       clean(fmt::format("{}", fmt::join(names_of(scenario.hosts), ", "))),
                       clean(call.params.at("run")), permitted.commands ? "" : kOnlyWithFlag);
  }
  for (const ScenarioHost& host : scenario.hosts) {
    if (host.binary.empty()) continue;
    out << fmt::format("plumbline on {}: {}{}\n", clean(host.name), clean(host.binary),
                       permitted.binaries ? "" : kOnlyWithFlag);
  }
}

nlohmann::json programs_json(const Scenario& scenario, const Permitted& permitted) {
  nlohmann::json commands = nlohmann::json::array(), binaries = nlohmann::json::array();
  for (const ProbeCall& call : scenario.probes) {
    if (call.command.empty()) continue;
    commands.push_back({{"argv", call.command},
                        {"hosts", names_of(scenario.hosts)},
                        {"permitted", permitted.commands}});
  }
  for (const ScenarioHost& host : scenario.hosts) {
    if (host.binary.empty()) continue;
    binaries.push_back(
        {{"host", host.name}, {"binary", host.binary}, {"permitted", permitted.binaries}});
  }
  return {{"commands", std::move(commands)}, {"binaries", std::move(binaries)}};
}

}  // namespace plumbline
