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

}  // namespace

ProbeCallSpec probe_call(const ProbeCall& call, bool permitted) {
  return {call.probe, call.params, call.command, permitted};
}

void print_programs(const Scenario& scenario, bool permitted, std::ostream& out) {
  for (const ProbeCall& call : scenario.probes) {
    if (call.command.empty()) continue;
    out << fmt::format("command on {}: {}{}\n",
                       clean(fmt::format("{}", fmt::join(names_of(scenario.hosts), ", "))),
                       clean(call.params.at("run")),
                       permitted ? "" : " (only with --allow-commands)");
  }
  for (const ScenarioHost& host : scenario.hosts) {
    if (host.binary.empty()) continue;
    out << fmt::format("plumbline on {}: {}\n", clean(host.name), clean(host.binary));
  }
}

nlohmann::json programs_json(const Scenario& scenario, bool permitted) {
  nlohmann::json commands = nlohmann::json::array(), binaries = nlohmann::json::array();
  for (const ProbeCall& call : scenario.probes) {
    if (call.command.empty()) continue;
    commands.push_back(
        {{"argv", call.command}, {"hosts", names_of(scenario.hosts)}, {"permitted", permitted}});
  }
  for (const ScenarioHost& host : scenario.hosts) {
    if (!host.binary.empty()) binaries.push_back({{"host", host.name}, {"binary", host.binary}});
  }
  return {{"commands", std::move(commands)}, {"binaries", std::move(binaries)}};
}

}  // namespace plumbline
