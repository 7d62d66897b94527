#include "runs/scenario_programs.h"

#include <fmt/format.h>

namespace plumbline {

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

}  // namespace plumbline
