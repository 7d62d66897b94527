#include "scenarios/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/json.h"
#include "core/shell_words.h"
#include "core/units.h"
#include "scenarios/host_files/formats.h"
#include "scenarios/host_words.h"

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

// The key `hosts`: places on this machine, or a list of hosts with their data addresses.

// Exactly one way to reach the host, and only what belongs to it.
void check_reach(const ScenarioHost& host, const Json& entry, const std::string& where,
                 Problems& problems) {
  std::vector<std::string> ways;
  for (const char* key : {"local", "netns", "ssh"}) {
    if (problems.has(where + "." + key)) return;  // reported already
    const bool off = entry.contains(key) && entry[key] == false;
    if (entry.contains(key) && !off) ways.emplace_back(key);
  }
  if (ways.size() != 1) {
    problems.add(
        where,
        ways.empty() ? "does not say how to reach it"
                     : fmt::format("has both '{}' and '{}'", ways[0], ways[1]),
        "give exactly one of \"ssh\": \"user@name\", \"netns\": \"NAME\" and \"local\": true");
  }
  if (!host.user.empty() && host.netns.empty() && host.ssh.empty()) {
    problems.add(where + ".user", "needs ssh or a namespace",
                 "leave it out for this machine itself");
  }
  for (const char* key : {"port", "key"}) {
    if (entry.contains(key) && host.ssh.empty()) {
      problems.add(where + "." + key, "belongs to 'ssh'", "leave it out, or reach the host by ssh");
    }
  }
  if (!entry.contains("ssh")) return;
  if (const std::string problem = destination_problem(host.ssh); !problem.empty()) {
    problems.add(where + ".ssh", problem, "write it as user@name, or a name of ~/.ssh/config");
  }
}

ScenarioHost read_host(const Json& entry, const std::string& where, int ranks, Problems& problems) {
  ScenarioHost host;
  host.name = entry.value("name", "");
  host.local = entry.value("local", false);
  host.netns = entry.value("netns", "");
  host.ssh = entry.value("ssh", "");
  host.port = entry.contains("port") ? static_cast<int>(whole_number(entry["port"])) : 0;
  host.key = entry.value("key", "");
  host.user = entry.value("user", "");
  host.binary = entry.value("binary", "");
  host.interface = entry.value("interface", "");
  host.speed = entry.value("speed", "");
  host.ranks_of_cores = entry.contains("ranks") && entry["ranks"].is_string();
  const bool counted = entry.contains("ranks") && !host.ranks_of_cores;
  host.ranks = counted ? static_cast<int>(whole_number(entry["ranks"])) : ranks;
  if (host.ranks_of_cores) host.ranks = 1;
  if (entry.contains("data")) host.data = texts(entry["data"]);
  if (entry.contains("group")) host.group = texts(entry["group"]);
  if (entry.contains("rdma")) {
    host.rdma = read_matrix_row(entry["rdma"], where + ".rdma", problems);
    if (host.data.empty()) host.data_interfaces = matrix_interfaces(host);
  }

  // A name that is missing or no text is reported already.
  const bool named = entry.contains("name") && entry["name"].is_string();
  if (const std::string wrong = host_name_problem(host.name); named && !wrong.empty()) {
    problems.add(where + ".name", wrong, kHostNameHint);
  }
  check_reach(host, entry, where, problems);
  if (!host.speed.empty() && !parse_bit_rate(host.speed)) {
    problems.add(where + ".speed", fmt::format("{} is not a speed", in_quotes(host.speed)),
                 "write a number with Tbit, Gbit, Mbit or Kbit, such as 40Gbit");
  }
  for (size_t i = 0; i < host.data.size(); ++i) {
    const std::string problem = address_problem(host.data[i]);
    if (problem.empty()) continue;
    problems.add(json_path(where + ".data", i), problem, "write it as 10.10.0.1/24 or fd00::1/64");
  }
  return host;
}

// A name or an address that two hosts claim.
void check_unique(const std::vector<ScenarioHost>& hosts, Problems& problems) {
  std::map<std::string, size_t> names, addresses;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const std::string where = json_path("$.hosts", i);
    if (const auto [it, fresh] = names.emplace(hosts[i].name, i);
        !fresh && !hosts[i].name.empty()) {
      problems.add(
          where + ".name",
          fmt::format("{} is the name of $.hosts[{}] too", in_quotes(hosts[i].name), it->second),
          "names tell hosts apart in messages and records");
    }
    // Hosts that are this machine itself share its addresses.
    if (hosts[i].local) continue;
    for (const std::string& address : hosts[i].data) {
      const std::string ip = address.substr(0, address.find('/'));
      const auto [it, fresh] = addresses.emplace(ip, i);
      if (fresh || it->second == i) continue;
      problems.add(where + ".data",
                   fmt::format("{} belongs to $.hosts[{}] too", in_quotes(ip), it->second),
                   "each host has its own addresses");
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
                       ? read_hosts(root["hosts"], said ? scenario.ranks_per_host : 0, problems,
                                    &scenario.coordinator)
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

std::vector<ScenarioHost> local_hosts(int count) {
  std::vector<ScenarioHost> hosts;
  for (int i = 0; i < count; ++i) {
    ScenarioHost host;
    host.name = fmt::format("local{}", i);
    host.local = true;
    host.data = {"127.0.0.1/8"};
    hosts.push_back(std::move(host));
  }
  return hosts;
}

std::vector<std::string> matrix_interfaces(const ScenarioHost& host) {
  std::vector<std::string> out;
  for (const std::vector<std::string>& cell : host.rdma) {
    for (const std::string& device : cell) {
      const std::string interface = interface_of_device(device);
      const bool known = contains(out, interface);
      if (!interface.empty() && !known) out.push_back(interface);
    }
  }
  return out;
}

std::vector<ScenarioHost> read_hosts(const Json& hosts, int ranks_per_host, Problems& problems,
                                     std::string* coordinator) {
  if (hosts.is_object()) {
    const bool local = hosts.contains("local"), file = hosts.contains("hostfile");
    if (local == file) {
      // What was wrong in itself is reported and gone.
      if (local || !problems.has("$.hosts")) {
        problems.add("$.hosts", local ? "has both 'local' and 'hostfile'" : "says not which hosts",
                     "give \"local\": N for places on this machine, or \"hostfile\": FILE");
      }
      return {};
    }
    if (file) {
      HostFile read = hosts_of_file(hosts["hostfile"].get<std::string>(), ranks_per_host, problems);
      if (coordinator != nullptr) *coordinator = named_coordinator(read);
      return std::move(read.hosts);
    }
    auto out = local_hosts(static_cast<int>(whole_number(hosts["local"])));
    for (ScenarioHost& host : out) host.ranks = std::max(1, ranks_per_host);
    return out;
  }
  std::vector<ScenarioHost> out;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (!hosts[i].is_object()) continue;
    out.push_back(
        read_host(hosts[i], json_path("$.hosts", i), std::max(1, ranks_per_host), problems));
  }
  check_unique(out, problems);
  return out;
}

int places(const std::vector<ScenarioHost>& hosts) {
  int sum = 0;
  for (const ScenarioHost& host : hosts) sum += host.ranks;
  return sum;
}

bool all_local(const std::vector<ScenarioHost>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(),
                     [](const ScenarioHost& host) { return host.local; });
}

}  // namespace plumbline
