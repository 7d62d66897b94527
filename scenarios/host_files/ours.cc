// Our own form: {"hosts": [...]}, {"local": N}, or the list alone. The keys of an entry are those
// of a scenario's `hosts`, from the same table; beside the list stands what the ranks of another
// program need: `backend`, `envs`, `coordinator`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "core/host/ip.h"
#include "core/json.h"
#include "scenarios/host_files/formats.h"
#include "scenarios/host_words.h"
#include "scenarios/read.h"

namespace plumbline {
namespace {

bool has_any(const Json& entry, std::initializer_list<const char*> keys) {
  return entry.is_object() && std::any_of(keys.begin(), keys.end(), [&entry](const char* key) {
           return entry.contains(key);
         });
}

bool is_own_entry(const Json& entry) { return has_any(entry, {"name", "data"}); }
bool is_mlx_entry(const Json& entry) {
  return has_any(entry, {"ips", "rdma"}) && !is_own_entry(entry);
}

// Whole entries only: a key in the wrong one is told by the check of the keys.
bool mixes_forms(const Json& list, Problems& problems) {
  if (!list.is_array() || !has_own_entries(list)) return false;
  bool mixed = false;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!is_mlx_entry(list[i])) continue;
    mixed = true;
    problems.add(json_path("$.hosts", i), "is an entry of MLX's form among entries of our own",
                 "an entry with 'name' or 'data' is ours, one with 'ips' or 'rdma' and neither of "
                 "these is MLX's; write all in one form");
  }
  return mixed;
}

void put_text(Json& entry, const char* key, const std::string& text) {
  if (!text.empty()) entry[key] = text;
}

Json entry_of(const HostFile& file, size_t i) {
  const ScenarioHost& host = file.hosts[i];
  Json entry = {{"name", host.name}};
  if (host.local) entry["local"] = true;
  put_text(entry, "netns", host.netns);
  put_text(entry, "ssh", host.ssh);
  if (host.port != 0) entry["port"] = host.port;
  put_text(entry, "key", host.key);
  put_text(entry, "user", host.user);
  put_text(entry, "binary", host.binary);
  if (!host.data.empty()) entry["data"] = host.data;
  put_text(entry, "interface", host.interface);
  put_text(entry, "speed", host.speed);
  if (!host.group.empty()) entry["group"] = host.group;
  if (!host.rdma.empty()) entry["rdma"] = cells_json(host);
  if (host.ranks_of_cores) {
    entry["ranks"] = kRanksOfCores;
  } else if (host.ranks != 1) {
    entry["ranks"] = host.ranks;
  }
  return entry;
}

// A key beside `hosts`.
void read_key(const std::string& key, const Json& value, HostFile& out, Problems& problems) {
  if (key == "hosts") return;
  if (key == "envs") return read_envs(value, out, problems);
  if (key == "backend") return read_backend(value, out, problems);
  const std::string where = json_path("$", key);
  if (key != "coordinator") {
    problems.add(where, fmt::format("unknown key {}", in_quotes(key)),
                 hint_for(key, {"hosts", "backend", "envs", "coordinator"}));
    return;
  }
  const std::string ip = value.is_string() ? value.get<std::string>() : "";
  if (const std::string problem = ip_problem(ip); !problem.empty()) {
    problems.add(where, problem, "write the address of the first host that all others reach");
    return;
  }
  out.coordinator = ip;
}

HostFile read_object(const HostText& in, Problems& problems) {
  HostFile out;
  Json& root = *in.json;
  for (auto it = root.begin(); it != root.end(); ++it) {
    read_key(it.key(), it.value(), out, problems);
  }
  Json& hosts = root["hosts"];
  if (mixes_forms(hosts, problems)) return out;
  if (hosts.is_object() && hosts.contains("hostfile")) {
    problems.add("$.hosts.hostfile", "a host file cannot name another one",
                 "that key belongs in a scenario");
    return out;
  }
  check_shape_of(root, "hosts", "hosts", {}, problems);
  if (!root.contains("hosts")) return out;
  out.hosts = read_hosts(root["hosts"], in.usual_ranks(), problems);
  for (size_t i = 0; i < out.hosts.size(); ++i) out.places.push_back(json_path("$.hosts", i));
  for (ScenarioHost& host : out.hosts) host.ring = out.backend == "ring" && !host.data.empty();
  return out;
}

// What stands in the file alone, and was read as the value of `hosts`.
std::string without_key(const std::string& where) {
  constexpr std::string_view kKey = "$.hosts";
  return where.rfind(kKey, 0) == 0 ? "$" + where.substr(kKey.size()) : where;
}

}  // namespace

bool has_own_entries(const Json& list) {
  return std::any_of(list.begin(), list.end(), is_own_entry);
}

bool has_mlx_entries(const Json& list) {
  return std::any_of(list.begin(), list.end(), is_mlx_entry);
}

bool is_own_form(const HostText& in) {
  if (in.json == nullptr) return false;
  if (in.json->is_array()) return has_own_entries(*in.json);
  if (!in.json->is_object() || is_mlx_object(in)) return false;
  return in.json->contains("hosts") || in.json->contains("local");
}

HostFile read_own_form(const HostText& in, Problems& problems) {
  Json& root = *in.json;
  if (!root.is_array() && !root.contains("local")) return read_object(in, problems);
  // {"local": N} and the list are the value of `hosts`.
  Json whole = Json::object();
  whole["hosts"] = std::move(root);
  root = std::move(whole);
  Problems own;
  HostFile out = read_object(in, own);
  problems.add_all(own.take(), without_key);
  for (std::string& place : out.places) place = without_key(place);
  return out;
}

Expected<std::string> write_own_form(const HostFile& file, int) {
  std::map<std::string, std::string> owners;
  for (const ScenarioHost& host : file.hosts) {
    for (const std::string& address : host.data) {
      if (host.local) continue;
      const auto [owner, fresh] = owners.emplace(parse_cidr(address).ip, host.name);
      if (fresh || owner->second == host.name) continue;
      return fail(ErrorCode::kConfig,
                  fmt::format("write {} in our own form: {} and {} have the same address {}",
                              file.file, owner->second, host.name, owner->first),
                  "list each machine once; several ranks on it are its `ranks`");
    }
  }
  Json list = Json::array();
  for (size_t i = 0; i < file.hosts.size(); ++i) list.push_back(entry_of(file, i));
  std::string head;
  const auto put = [&head](const char* key, const Json& value) {
    head += fmt::format("\"{}\": {}, ", key, value.dump());
  };
  if (!file.backend.empty()) put("backend", file.backend);
  if (!file.envs.empty()) put("envs", envs_json(file));
  // Where `data` says it, that is enough.
  const std::string coordinator = named_coordinator(file);
  if (!coordinator.empty()) put("coordinator", coordinator);
  return "{" + head + "\"hosts\": " + lines_of(list, "") + "}\n";
}

}  // namespace plumbline
