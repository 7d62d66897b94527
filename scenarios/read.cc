#include "scenarios/read.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "scenarios/read_matrix.h"
#include "scenarios/shape.h"

namespace plumbline {
namespace {

constexpr int kDefaultHosts = 2;

// Options that have a second, shorter place under `launch`.
constexpr const char* kLaunchOptions[] = {"port_base", "master_port"};

void read_probe_params(const Json& call, ProbeCall& out) {
  for (auto it = call.begin(); it != call.end(); ++it) {
    if (it.key() == "probe") continue;
    if (!it->is_array()) {
      out.params[it.key()] = scalar_text(*it);
      continue;
    }
    std::string joined;
    for (const Json& value : *it) joined += (joined.empty() ? "" : ",") + scalar_text(value);
    out.params[it.key()] = joined;
  }
}

std::vector<ProbeCall> read_probes(const Json& list) {
  std::vector<ProbeCall> calls;
  for (const Json& entry : list) {
    ProbeCall call;
    if (entry.is_string()) call.probe = entry.get<std::string>();
    if (entry.is_object()) {
      call.probe = entry.value("probe", "");
      read_probe_params(entry, call);
    }
    if (!call.probe.empty()) calls.push_back(std::move(call));
  }
  return calls;
}

std::vector<ChecklistCall> read_checklist(const Json& list) {
  std::vector<ChecklistCall> calls;
  for (const Json& entry : list) {
    ChecklistCall call;
    call.path = json_path("$.checklist", calls.size());
    call.item = entry.value("item", "");
    if (entry.contains("probes")) call.probes = texts(entry["probes"]);
    if (entry.contains("cells")) call.cells = texts(entry["cells"]);
    calls.push_back(std::move(call));
  }
  return calls;
}

// launch.port_base and launch.master_port are other places for options of these names.
void read_launch(const Json& launch, Scenario& scenario, Problems& problems) {
  if (launch.contains("ranks_per_host")) {
    scenario.ranks_per_host = static_cast<int>(whole_number(launch["ranks_per_host"]));
  }
  for (const char* name : kLaunchOptions) {
    if (!launch.contains(name)) continue;
    const std::string text = scalar_text(launch[name]);
    const auto [it, fresh] = scenario.config.emplace(name, text);
    if (!fresh && it->second != text) {
      problems.add(fmt::format("$.launch.{}", name),
                   fmt::format("is {}, but config.{} is {}", text, name, in_quotes(it->second)),
                   "give it once");
    }
  }
}

}  // namespace

Scenario read_scenario(const Json& root, Problems& problems) {
  Scenario scenario;
  scenario.question = root.value("question", "");
  if (root.contains("config")) scenario.config = read_options(root["config"]);
  if (root.contains("launch")) read_launch(root["launch"], scenario, problems);
  scenario.hosts = root.contains("hosts")
                       ? read_hosts(root["hosts"], scenario.ranks_per_host, problems)
                       : local_hosts(kDefaultHosts);
  if (!root.contains("hosts")) {
    for (ScenarioHost& host : scenario.hosts) host.ranks = scenario.ranks_per_host;
  }
  if (root.contains("probes")) scenario.probes = read_probes(root["probes"]);
  if (root.contains("matrix")) {
    const Json& matrix = root["matrix"];
    for (size_t i = 0; i < matrix.size(); ++i) {
      if (!matrix[i].is_object()) continue;
      scenario.matrix.push_back(read_block(matrix[i], json_path("$.matrix", i), problems));
    }
  }
  if (root.contains("checklist")) scenario.checklist = read_checklist(root["checklist"]);
  scenario.report = {"console"};
  if (root.contains("report")) scenario.report = texts(root["report"]);
  if (root.contains("seed")) scenario.seed = whole_number(root["seed"]);
  if (root.contains("trace") && root["trace"].is_object()) {
    scenario.keep_traces = root["trace"].value("keep", scenario.keep_traces);
  }
  scenario.roofs = root.value("roofs", true);
  return scenario;
}

}  // namespace plumbline
