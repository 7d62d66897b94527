#include "runs/plan_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "core/host/host.h"

namespace plumbline {
namespace {

std::string key_variable(const ProbeCall& call) {
  const auto found = call.params.find("key_from");
  const bool named = call.probe == kEndpointProbe && found != call.params.end();
  return named ? found->second : std::string();
}

}  // namespace

uint64_t fresh_seed() {
  return static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) &
         0xffffffff;
}

Expected<Plan> plan_of(const Scenario& scenario, const OptionSet& options,
                       const Vocabulary& vocabulary, const PlanFilter& filter, uint64_t seed,
                       Caller* caller) {
  const int cores = read_host_facts().cores_usable;
  Expected<Plan> plan = make_plan(scenario, filter, seed, {vocabulary, &options, cores});
  if (plan && plan->crowded > 0 && caller != nullptr) {
    caller->say(fmt::format(
        "plumbline: {} cells need more ranks than this machine has cores ({}) and are left out "
        "(\"oversubscribe\": false)",
        plan->crowded, cores));
  }
  return plan;
}

int largest_world(const Plan& plan) {
  int ranks = 1;
  for (const PlanCell& planned : plan.cells) ranks = std::max(ranks, planned.cell.ranks);
  return ranks;
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

std::string endpoint_key(const std::string& variable) {
  const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
  return value == nullptr ? std::string() : value;
}

Status check_keys(const Scenario& scenario) {
  std::vector<std::string> variables;
  for (const ProbeCall& call : scenario.probes) variables.push_back(key_variable(call));
  for (const MatrixBlock& block : scenario.matrix) variables.push_back(block.key_from);
  for (const std::string& variable : variables) {
    if (variable.empty() || !endpoint_key(variable).empty()) continue;
    return fail(
        ErrorCode::kConfig,
        fmt::format("the variable {}, from which the key of a server is to come, is not set",
                    variable),
        "set and export it, or leave `key_from` out");
  }
  return {};
}

ProbeCallSpec probe_call(const ProbeCall& call, bool permitted) {
  return {call.probe, call.params, call.command, permitted, endpoint_key(key_variable(call))};
}

}  // namespace plumbline
