#include "cli/program_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/json.h"
#include "reports/text.h"

namespace plumbline {
namespace {

std::vector<std::string> their_names(const std::vector<ScenarioHost>& hosts) {
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

void print_programs(const Scenario& scenario, const Permitted& permitted, std::ostream& out) {
  for (const ProbeCall& call : scenario.probes) {
    if (call.command.empty()) continue;
    out << fmt::format("command on {}: {}{}\n",
                       clean(fmt::format("{}", fmt::join(their_names(scenario.hosts), ", "))),
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
                        {"hosts", their_names(scenario.hosts)},
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
