#include "scenarios/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "core/shell_words.h"
#include "core/split_words.h"
#include "scenarios/read_matrix.h"
#include "scenarios/shape.h"

namespace plumbline {
namespace {

constexpr int kDefaultHosts = 2;

// Options that have a second, shorter place under `launch`.
constexpr const char* kLaunchOptions[] = {"port_base", "master_port"};

// The words of a command, split here and nowhere else.
void read_command(const Json& run, const std::string& where, ProbeCall& out, Problems& problems) {
  if (run.is_array()) {
    for (const Json& word : run) out.command.push_back(scalar_text(word));
  } else if (auto words = split_words(scalar_text(run))) {
    out.command = std::move(*words);
  } else {
    problems.add(where, words.error().what, words.error().hint);
  }
  for (const std::string& word : out.command) {
    if (word.find('\0') != word.npos) problems.add(where, "a word holds a zero byte");
  }
  out.params["run"] = shell_line(out.command);
}

void read_probe_params(const Json& call, const std::string& path, ProbeCall& out,
                       Problems& problems) {
  const bool command = out.probe == kCommandProbe;
  for (auto it = call.begin(); it != call.end(); ++it) {
    if (it.key() == "probe") continue;
    if (command && it.key() == "run") {
      read_command(*it, json_path(path, "run"), out, problems);
      continue;
    }
    if (!it->is_array()) {
      out.params[it.key()] = scalar_text(*it);
      continue;
    }
    std::string joined;
    for (const Json& value : *it) joined += (joined.empty() ? "" : ",") + scalar_text(value);
    out.params[it.key()] = joined;
  }
}

std::vector<ProbeCall> read_probes(const Json& list, Problems& problems) {
  std::vector<ProbeCall> calls;
  for (size_t i = 0; i < list.size(); ++i) {
    const Json& entry = list[i];
    const std::string path = json_path("$.probes", i);
    ProbeCall call;
    if (entry.is_string()) call.probe = entry.get<std::string>();
    if (entry.is_object()) {
      call.probe = entry.value("probe", "");
      read_probe_params(entry, path, call, problems);
    }
    const bool no_command = call.command.empty() || call.command.front().empty();
    if (call.probe == kCommandProbe && no_command && !problems.has(path)) {
      problems.add(path, "the probe 'command' needs 'run', the command",
                   R"(write {"probe": "command", "run": ["uname", "-r"]})");
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
  const bool said = root.contains("launch") && root["launch"].contains("ranks_per_host");
  scenario.hosts = root.contains("hosts")
                       ? read_hosts(root["hosts"], said ? scenario.ranks_per_host : 0, problems)
                       : local_hosts(kDefaultHosts);
  if (!root.contains("hosts")) {
    for (ScenarioHost& host : scenario.hosts) host.ranks = scenario.ranks_per_host;
  }
  if (root.contains("probes")) scenario.probes = read_probes(root["probes"], problems);
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
