// MLX's host files, as mlx.launch reads and mlx.distributed_config writes them: the bare list of
// hosts, or an object with `backend`, `envs` and `hosts`. An entry has `ssh`, `ips` and `rdma`; the
// rank is its place in the list. Source: mlx/_distributed_utils/common.py and launch.py.
#include <fmt/format.h>

#include <algorithm>

#include "core/host/ip.h"
#include "core/json.h"
#include "scenarios/host_files/formats.h"
#include "scenarios/host_words.h"
#include "scenarios/json_text.h"
#include "scenarios/read.h"

namespace plumbline {
namespace {

const std::vector<std::string> kFileKeys = {"backend", "envs", "hosts"};
const std::vector<std::string> kEntryKeys = {"ssh", "ips", "rdma"};

void check_keys(const Json& object, const std::vector<std::string>& known, const std::string& where,
                Problems& problems) {
  for (auto it = object.begin(); it != object.end(); ++it) {
    if (contains(known, it.key())) continue;
    const bool own = it.key() == "name" || it.key() == "data";
    if (own) {
      problems.add(
          json_path(where, it.key()),
          fmt::format("is a key of plumbline's own host files in one of MLX's form"),
          "write all entries in one form: {\"hosts\": [...]} without `backend`, `envs` and "
          "`ips`, or MLX's `ssh`, `ips`, `rdma` alone");
    } else {
      problems.add(json_path(where, it.key()), fmt::format("unknown key {}", in_quotes(it.key())),
                   hint_for(it.key(), known));
    }
  }
}

std::vector<std::string> read_ips(const Json& list, const std::string& where, Problems& problems) {
  std::vector<std::string> out;
  if (!list.is_array() || list.size() > kMaxListLength) {
    problems.add(where, "is no list of addresses", "write it as [\"10.0.0.1\"], or [] for none");
    return out;
  }
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string ip = list[i].is_string() ? list[i].get<std::string>() : "";
    const std::string problem = ip_problem(ip);
    if (problem.empty()) {
      out.push_back(ip);
    } else {
      problems.add(json_path(where, i), problem, "write an address without prefix length or port");
    }
  }
  return out;
}

// null | text | list of texts, which is empty for the host itself only.
bool is_cell(const Json& cell, bool self) {
  if (cell.is_array()) {
    return (self || !cell.empty()) && cell.size() <= kMaxListLength &&
           std::all_of(cell.begin(), cell.end(), [](const Json& text) { return text.is_string(); });
  }
  return cell.is_null() || cell.is_string();
}

ScenarioHost read_entry(const Json& entry, const std::string& where, const HostText& in,
                        HostFile& out, Problems& problems) {
  std::string ssh;
  out.ips.emplace_back();
  if (entry.is_object()) {
    check_keys(entry, kEntryKeys, where, problems);
    if (entry.contains("ssh") && entry["ssh"].is_string()) ssh = entry["ssh"].get<std::string>();
  }
  if (const std::string problem = destination_problem(ssh); !problem.empty()) {
    const bool given = entry.is_object() && entry.contains("ssh");
    problems.add(given ? where + ".ssh" : where, given ? problem : "key 'ssh' is missing",
                 "write the name behind `ssh`, or 127.0.0.1 for this machine");
  }
  ScenarioHost host = host_behind(ssh, out.hosts, in.usual_ranks());
  if (!entry.is_object()) return host;
  if (entry.contains("ips")) out.ips.back() = read_ips(entry["ips"], where + ".ips", problems);
  if (entry.contains("rdma")) {
    host.rdma = read_device_row(entry["rdma"], out.hosts.size(), where + ".rdma", problems);
  }
  return host;
}

// The addresses under test. In a ring `ips` are those, whether it runs over cables or over
// Ethernet; for JACCL they lie behind the devices, and `ips` is the coordinator's, which is not
// measured.
void find_data_of(HostFile& file) {
  const auto all = [&file](auto test) {
    for (size_t i = 0; i < file.hosts.size(); ++i) {
      if (!test(i)) return false;
    }
    return !file.hosts.empty();
  };
  const bool all_ips = all([&](size_t i) { return !file.ips[i].empty(); });
  const bool no_matrix = all([&](size_t i) { return file.hosts[i].rdma.empty(); });
  const bool any = file.backend.empty() || file.backend == "any";
  const bool ring = all_ips && (file.backend == "ring" || (any && no_matrix));
  const bool here = !file.hosts.empty() && all_local(file.hosts);
  for (size_t i = 0; i < file.hosts.size(); ++i) {
    ScenarioHost& host = file.hosts[i];
    host.ring = ring;
    if (ring) {
      host.data = file.ips[i];
    } else if (here) {
      host.data = {"127.0.0.1/8"};
    } else {
      host.data_interfaces = matrix_interfaces(host);
    }
  }
}

Json mlx_entry(const HostFile& file, size_t i) {
  const ScenarioHost& host = file.hosts[i];
  std::string ssh = host.local ? "127.0.0.1" : host.ssh;
  if (!host.user.empty() && !host.local) ssh = host.user + "@" + without_user(ssh);
  Json ips = Json::array();
  if (i < file.ips.size()) {
    ips = file.ips[i];
  } else if (const auto facing = ring_addresses(file, i)) {
    ips = *facing;
  } else {
    for (const std::string& address : host.data) ips.push_back(parse_cidr(address).ip);
  }
  // MLX dials the first of the first host.
  const bool coordinates = i == 0 && !file.coordinator.empty() && !is_ring(file);
  if (coordinates && (ips.empty() || ips[0] != file.coordinator)) {
    ips.insert(ips.begin(), file.coordinator);
  }
  return {{"ssh", ssh}, {"ips", ips}, {"rdma", cells_json(host)}};
}

Expected<Json> mlx_list(const HostFile& file) {
  Json list = Json::array();
  for (size_t i = 0; i < file.hosts.size(); ++i) {
    if (!file.hosts[i].netns.empty()) {
      return fail(ErrorCode::kConfig,
                  fmt::format("write {} for MLX: {} is a network namespace, and mlx.launch reaches "
                              "hosts by ssh only",
                              file.file, file.hosts[i].name),
                  "start sshd in it and name it by `ssh`");
    }
    list.push_back(mlx_entry(file, i));
  }
  return list;
}

}  // namespace

std::vector<std::vector<std::string>> read_device_row(const Json& row, size_t self,
                                                      const std::string& where,
                                                      Problems& problems) {
  if (!row.is_array() || row.size() > kMaxListLength) {
    problems.add(where, "is no list of devices", "write one cell per host: [null, \"rdma_en3\"]");
    return {};
  }
  for (size_t i = 0; i < row.size(); ++i) {
    if (is_cell(row[i], i == self)) continue;
    problems.add(json_path(where, i), "is no cell of a device matrix",
                 "a cell is null, a device, or a list of devices where there are several cables");
  }
  return read_matrix_row(row, where, problems);
}

bool is_mlx_object(const HostText& in) {
  if (in.json == nullptr || !in.json->is_object() || in.json->contains("plumbline")) return false;
  const Json* list = list_of_hosts(*in.json);
  if (list != nullptr && has_own_entries(*list)) return false;
  if (in.json->contains("coordinator")) return false;  // a key of our own
  if (in.json->contains("backend") || in.json->contains("envs")) return true;
  if (list == nullptr) return false;
  const auto ssh_alone = [](const Json& entry) {
    return entry.is_object() && entry.size() == 1 && entry.contains("ssh");
  };
  return has_mlx_entries(*list) ||
         (!list->empty() && std::all_of(list->begin(), list->end(), ssh_alone));
}

bool is_mlx_array(const HostText& in) {
  return in.json != nullptr && in.json->is_array() && !in.json->empty() &&
         !has_own_entries(*in.json) && (*in.json)[0].is_object();
}

HostFile read_mlx(const HostText& in, Problems& problems) {
  HostFile out;
  Json& root = *in.json;
  const std::string base = root.is_array() ? "$" : "$.hosts";
  if (root.is_object()) {
    check_keys(root, kFileKeys, "$", problems);
    if (root.contains("envs")) read_envs(root["envs"], out, problems);
    if (root.contains("backend")) read_backend(root["backend"], out, problems);
  }
  const Json* list = list_of_hosts(root);
  if (list == nullptr || list->empty() || list->size() > kMaxListLength) {
    problems.add(base, fmt::format("is no list of 1 to {} hosts", kMaxListLength),
                 "a host file of MLX is [{\"ssh\": ..., \"ips\": [...], \"rdma\": [...]}, ...]");
    return out;
  }
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string where = json_path(base, i);
    out.hosts.push_back(read_entry((*list)[i], where, in, out, problems));
    out.places.push_back(where);
  }
  find_data_of(out);
  return out;
}

Expected<std::string> write_mlx_array(const HostFile& file, int) {
  const Expected<Json> list = mlx_list(file);
  if (!list) return fail(list.error());
  return lines_of(*list, "") + "\n";
}

Expected<std::string> write_mlx_object(const HostFile& file, int) {
  const Expected<Json> list = mlx_list(file);
  if (!list) return fail(list.error());
  return fmt::format("{{\n  \"backend\": {},\n  \"envs\": {},\n  \"hosts\": {}\n}}\n",
                     Json(file.backend).dump(), envs_json(file).dump(), lines_of(*list, "  "));
}

}  // namespace plumbline
