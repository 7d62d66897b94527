// Topology files: JSON with comments, one table of keys, everything checked before anything is
// made.
#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

#include "core/error.h"
#include "core/json.h"
#include "core/json_scan.h"
#include "core/text.h"
#include "lab/address.h"
#include "lab/lab.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr int kMostHosts = 12, kMostCables = 4;

struct WordKey {
  const char* key;
  std::string LabTopology::*field;
  std::vector<std::string> words;  // what it may be; empty = any text
};

const std::vector<WordKey>& word_keys() {
  static const std::vector<WordKey> table = {
      {"name", &LabTopology::name, {}},
      {"shape", &LabTopology::shape, {"star", "mesh", "routed"}},
      {"family", &LabTopology::family, {"ipv4", "ipv6", "link_local", "link_local6"}},
      {"data", &LabTopology::data, {}},
      {"control", &LabTopology::control, {}},
      {"rate", &LabTopology::rate, {}},
      {"carrier", &LabTopology::carrier, {"direct", "bridge", "macvlan", "vlan", "bond"}},
      {"firewall", &LabTopology::firewall, {"", "default_deny", "firewalld"}},
      {"ping", &LabTopology::ping, {"answered", "blocked"}},
      {"ports", &LabTopology::ports, {}},
  };
  return table;
}

const std::vector<std::string> kOthers = {"docker", "vpn", "second_nic"};

std::vector<std::string> all_keys() {
  std::vector<std::string> keys = {"plumbline_lab", "hosts",  "cables",
                                   "mtu",           "others", "unprivileged"};
  for (const WordKey& row : word_keys()) keys.emplace_back(row.key);
  return keys;
}

bool is_name(const std::string& text) {
  static const std::regex kName("[a-z0-9]([a-z0-9.-]{0,30}[a-z0-9])?");
  return std::regex_match(text, kName);
}

std::string quoted_list(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!word.empty()) out += (out.empty() ? "" : ", ") + word;
  }
  return out;
}

std::string choice_problem(const char* key, const std::string& value,
                           const std::vector<std::string>& words) {
  if (words.empty() || std::count(words.begin(), words.end(), value) > 0) return {};
  return fmt::format("$.{}: '{}' is none of: {}", key, value, quoted_list(words));
}

std::string hosts_problem(const LabTopology& topology) {
  const int count =
      topology.hosts.empty() ? topology.size : static_cast<int>(topology.hosts.size());
  if (count < 2 || count > kMostHosts) {
    return fmt::format("$.hosts: a lab has 2 to {} hosts, not {}", kMostHosts, count);
  }
  std::set<std::string> seen;
  for (size_t i = 0; i < topology.hosts.size(); ++i) {
    const std::string& name = topology.hosts[i];
    if (!is_name(name)) {
      return fmt::format("$.hosts[{}]: '{}' is no host name (a-z, 0-9, dots and dashes)", i, name);
    }
    if (!seen.insert(name).second) return fmt::format("$.hosts[{}]: '{}' twice", i, name);
  }
  return {};
}

// Whether this many hosts find their addresses in the subnet.
std::string room_problem(const LabTopology& topology, const Subnet& data, uint64_t hosts) {
  if (topology.shape == "mesh") {
    const uint64_t cables =
        hosts * (hosts - 1) / 2 * static_cast<uint64_t>(std::max(topology.cables, 1));
    const int length = data.ip.v6 ? 126 : 30;
    const uint64_t fit = count_subnets(data, length);
    if (fit >= cables) return {};
    return fmt::format("$.data: {} holds {} subnets of /{}, and {} hosts have {} cables",
                       topology.data, fit, length, hosts, cables);
  }
  Subnet part = data;
  uint64_t needed = hosts;
  if (topology.shape == "routed") {
    part.prefix += 1;
    needed = (hosts + 1) / 2 + 1;  // and the router
    if (part.prefix > (part.ip.v6 ? 127 : 30)) return "$.data: too small to be halved";
  }
  if (host_capacity(part) >= needed) return {};
  return fmt::format("$.data: {} is too small for {} hosts", topology.data, hosts);
}

std::string subnet_problem(const LabTopology& topology) {
  const uint64_t hosts =
      topology.hosts.empty() ? static_cast<uint64_t>(topology.size) : topology.hosts.size();
  const bool v6 = topology.family == "ipv6" || topology.family == "link_local6";
  const bool link_local = topology.family.rfind("link_local", 0) == 0;
  if (link_local && topology.shape != "star") {
    return "$.family: link-local addresses work on one link only: shape must be star";
  }
  Subnet data;
  if (!topology.data.empty()) {
    if (link_local) return "$.data: with link-local addresses the subnet is fixed, leave it out";
    const Expected<Subnet> parsed = parse_subnet(topology.data);
    if (!parsed) return "$.data: " + parsed.error().message();
    data = *parsed;
    if (data.ip.v6 != v6) {
      return fmt::format("$.data: {} is no {} subnet", topology.data, topology.family);
    }
    const std::string problem = room_problem(topology, data, hosts);
    if (!problem.empty()) return problem;
  }
  if (topology.control.empty()) return {};
  const Expected<Subnet> control = parse_subnet(topology.control);
  if (!control) return "$.control: " + control.error().message();
  if (host_capacity(*control) < hosts) {
    return fmt::format("$.control: {} is too small for {} hosts", topology.control, hosts);
  }
  if (!topology.data.empty() && overlap(data, *control)) {
    return fmt::format("$.control: {} overlaps the data subnet {}", topology.control,
                       topology.data);
  }
  return {};
}

std::string read_hosts(const Json& value, LabTopology& topology) {
  if (value.is_number_integer()) {
    topology.size = value.get<int>();
    return {};
  }
  if (!value.is_array()) return "$.hosts: must be a number or a list of names";
  if (value.empty()) return "$.hosts: is empty";
  for (size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is_string()) return fmt::format("$.hosts[{}]: must be a text", i);
    topology.hosts.push_back(value[i].get<std::string>());
  }
  topology.size = static_cast<int>(topology.hosts.size());
  return {};
}

std::string read_key(const std::string& key, const Json& value, LabTopology& topology) {
  if (key == "plumbline_lab") {
    return value == 1 ? "" : "$.plumbline_lab: must be 1, the version of this format";
  }
  if (key == "hosts") return read_hosts(value, topology);
  if (key == "mtu") {
    if (!value.is_number_integer()) return "$.mtu: must be a whole number of bytes";
    topology.mtu = value.get<int>();
    return {};
  }
  if (key == "cables") {
    if (!value.is_number_integer()) return "$.cables: must be a whole number";
    topology.cables = value.get<int>();
    return {};
  }
  if (key == "unprivileged") {
    if (!value.is_boolean()) return "$.unprivileged: must be true or false";
    topology.unprivileged = value.get<bool>();
    return {};
  }
  if (key == "others") {
    if (!value.is_array()) return "$.others: must be a list";
    for (size_t i = 0; i < value.size(); ++i) {
      if (!value[i].is_string()) return fmt::format("$.others[{}]: must be a text", i);
      topology.others.push_back(value[i].get<std::string>());
    }
    return {};
  }
  for (const WordKey& row : word_keys()) {
    if (key != row.key) continue;
    if (!value.is_string()) return fmt::format("$.{}: must be a text", key);
    topology.*row.field = value.get<std::string>();
    return {};
  }
  const std::string near = nearest_name(key, all_keys());
  return fmt::format("$.{}: unknown key{}", key,
                     near.empty() ? std::string() : "; did you mean '" + near + "'?");
}

}  // namespace

std::string topology_problem(const LabTopology& topology) {
  static const std::regex kRate("[1-9][0-9]{0,3}(\\.[0-9]{1,3})?[KMGT]bit");
  for (const WordKey& row : word_keys()) {
    const std::string problem = choice_problem(row.key, topology.*row.field, row.words);
    if (!problem.empty()) return problem;
  }
  for (const std::string& word : topology.others) {
    const std::string problem = choice_problem("others", word, kOthers);
    if (!problem.empty()) return problem;
  }
  if (!is_name(topology.name) || topology.name.find('.') != std::string::npos) {
    return fmt::format("$.name: '{}' is no name (a-z, 0-9 and dashes, at most 32)", topology.name);
  }
  std::string problem = hosts_problem(topology);
  if (!problem.empty()) return problem;
  if (!topology.rate.empty() && !std::regex_match(topology.rate, kRate)) {
    return fmt::format("$.rate: '{}' is no rate; write it as 1Gbit or 250Mbit", topology.rate);
  }
  const int least = topology.family == "ipv4" || topology.family == "link_local" ? 576 : 1280;
  if (topology.mtu < least || topology.mtu > 65535) {
    return fmt::format("$.mtu: {} is outside {} to 65535", topology.mtu, least);
  }
  if (topology.cables < 1 || topology.cables > kMostCables) {
    return fmt::format("$.cables: {} is outside 1 to {}", topology.cables, kMostCables);
  }
  if (topology.cables > 1 && topology.shape != "mesh") {
    return fmt::format("$.cables: several between two hosts need a mesh, not a {}", topology.shape);
  }
  if (topology.carrier != "direct" && topology.shape == "mesh") {
    return fmt::format("$.carrier: '{}' needs a switch, not a mesh", topology.carrier);
  }
  if (!topology.others.empty() && topology.shape == "mesh") {
    return "$.others: further interfaces need a switch, not a mesh";
  }
  if (!topology.ports.empty()) {
    const auto ports = parse_ports(topology.ports);
    if (!ports) return "$.ports: " + ports.error().message();
  }
  return subnet_problem(topology);
}

Expected<LabTopology> parse_topology(const std::string& text, const std::string& file) {
  const JsonScan scan = scan_json(text);
  if (!scan.faults.empty()) {
    const JsonFault& fault = scan.faults.front();
    return fail(ErrorCode::kConfig,
                fmt::format("{}:{}: {}", file, spot_text(fault.spot), fault.what), fault.hint);
  }
  const Json json = Json::parse(text, nullptr, false, true);
  if (!json.is_object() || !json.contains("plumbline_lab")) {
    return fail(ErrorCode::kConfig, file + ":1:1: is no topology (no key 'plumbline_lab')",
                "see scenarios/labs for examples");
  }
  // Every problem begins with the path of what it is about.
  const auto placed = [&](const std::string& problem) {
    const JsonSpot spot = scan.places.find(problem.substr(0, problem.find(": ")));
    return fmt::format("{}:{}: {}", file, spot_text(spot), problem);
  };
  LabTopology topology;
  for (const auto& [key, value] : json.items()) {
    std::string problem;
    try {
      problem = read_key(key, value, topology);
    } catch (const Json::exception& error) {  // a number out of range
      problem = "$." + key + ": " + json_trouble(error);
    }
    if (!problem.empty()) return fail(ErrorCode::kConfig, placed(problem));
  }
  const std::string problem = topology_problem(topology);
  if (!problem.empty()) return fail(ErrorCode::kConfig, placed(problem));
  return topology;
}

}  // namespace plumbline
