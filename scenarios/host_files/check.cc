// What can be wrong with a host file whatever it is used for.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/host/ip.h"
#include "core/options/options.h"
#include "scenarios/host_files/backends.h"
#include "scenarios/host_words.h"

namespace plumbline {
namespace {

// Where an address of a host stands, without prefix length.
struct Address {
  std::string ip, where;
  size_t host;
};

std::vector<Address> addresses_of(const HostFile& file) {
  std::vector<Address> out;
  std::set<std::pair<size_t, std::string>> seen;
  const auto add = [&](size_t host, const std::string& ip, const std::string& where) {
    if (seen.emplace(host, ip).second) out.push_back({ip, where, host});
  };
  for (size_t i = 0; i < file.hosts.size(); ++i) {
    if (i < file.ips.size()) {
      for (const std::string& ip : file.ips[i]) {
        add(i, ip, file.places[i] + (file.ports.empty() ? ".ips" : ""));
      }
    }
    for (const std::string& text : file.hosts[i].data) {
      add(i, parse_cidr(text).ip, file.places[i] + (file.ips.empty() ? ".data" : ""));
    }
  }
  if (!file.coordinator.empty() && !file.hosts.empty()) {
    add(0, file.coordinator, "$.coordinator");
  }
  return out;
}

void check_addresses(const HostFile& file, Problems& problems) {
  std::map<std::string, size_t> owners;
  for (const Address& address : addresses_of(file)) {
    const ScenarioHost& host = file.hosts[address.host];
    if (host.local && (all_local(file.hosts) || is_loopback_ip(address.ip))) continue;
    if (is_loopback_ip(address.ip)) {
      problems.add(address.where,
                   fmt::format("'{}' is the loopback address: no other host reaches {} by it",
                               address.ip, host.name),
                   "write the address that the others see");
      continue;
    }
    const auto [owner, fresh] = owners.emplace(address.ip, address.host);
    if (fresh || !file.ports.empty()) continue;
    problems.add(address.where,
                 fmt::format("'{}' belongs to {} too", address.ip, file.hosts[owner->second].name),
                 "each host has its own addresses");
  }
}

// Where ranks of a ring wait: each at addresses and ports of its own.
void check_endpoints(const HostFile& file, Problems& problems) {
  std::map<std::pair<std::string, int>, size_t> owners;
  for (size_t i = 0; i < file.ports.size() && i < file.ips.size(); ++i) {
    for (size_t k = 0; k < file.ports[i].size() && k < file.ips[i].size(); ++k) {
      const std::pair<std::string, int> endpoint = {file.ips[i][k], file.ports[i][k]};
      const auto [owner, fresh] = owners.emplace(endpoint, i);
      if (fresh) continue;
      problems.add(json_path(file.places[i], k),
                   fmt::format("{} waits at {} port {}, as {} does", file.hosts[i].name,
                               endpoint.first, endpoint.second, file.hosts[owner->second].name),
                   "each rank and each of its addresses has a port of its own");
    }
  }
}

// "mini1:2222", which ssh takes for a name. An address of IPv6 has more colons, ssh:// a way to say
// the port.
void check_ssh_port(const ScenarioHost& host, const std::string& where, Problems& problems) {
  const std::string name = without_user(host.ssh);
  const size_t colon = name.find(':');
  if (colon == std::string::npos || host.ssh.rfind("ssh://", 0) == 0) return;
  const std::string port = name.substr(colon + 1);
  if (port.empty() || port.find_first_not_of("0123456789") != std::string::npos) return;
  problems.add(
      where + ".ssh",
      fmt::format("{} names a port, which ssh takes for a part of the name", in_quotes(host.ssh)),
      fmt::format("write ssh://{}, or `Port {}` for a name of its own in ~/.ssh/config", host.ssh,
                  port));
}

void check_machines(const HostFile& file, Problems& problems) {
  std::map<std::string, size_t> seen;
  for (size_t i = 0; i < file.hosts.size(); ++i) {
    const ScenarioHost& host = file.hosts[i];
    // A ring file names addresses, not machines.
    if (host.ssh.empty() || !file.ports.empty()) continue;
    check_ssh_port(host, file.places[i], problems);
    const auto [other, fresh] = seen.emplace(machine_of(host), i);
    if (fresh) continue;
    problems.add(
        file.places[i] + ".ssh",
        fmt::format("{} is the machine of {} too", in_quotes(host.ssh), file.places[other->second]),
        "list each machine once; several ranks on it are `ranks` (our own form), slots (MPI) "
        "or mlx.launch -n");
  }
}

// All hosts must have a family in common, or they cannot reach one another.
void check_families(const HostFile& file, Problems& problems) {
  std::vector<std::set<bool>> families(file.hosts.size());
  for (const Address& address : addresses_of(file)) {
    families[address.host].insert(is_v6(address.ip));
  }
  size_t first = file.hosts.size();
  for (size_t i = 0; i < families.size(); ++i) {
    if (families[i].size() != 1) continue;
    if (first == file.hosts.size()) first = i;
    if (families[i] == families[first]) continue;
    problems.add(file.places[i],
                 fmt::format("{} has IPv{} addresses only, {} has IPv{} addresses only",
                             file.hosts[i].name, families[i].count(true) != 0 ? 6 : 4,
                             file.hosts[first].name, families[first].count(true) != 0 ? 6 : 4),
                 "use one family for all");
  }
}

void check_backend_name(const HostFile& file, Problems& problems) {
  if (file.backend.empty() || file.backend == "any" || find_backend(file.backend) != nullptr)
    return;
  std::vector<std::string> names = row_names(backend_table());
  names.insert(names.begin(), "any");
  problems.add("$.backend", fmt::format("unknown backend {}", in_quotes(file.backend)),
               hint_for(file.backend, names));
}

std::string devices(size_t count) {
  return count == 0 ? "no device" : fmt::format("{} device{}", count, count == 1 ? "" : "s");
}

// Devices of Thunderbolt ports: a cable has one other end.
bool is_port_of_a_cable(const std::string& device) { return device.rfind("rdma_en", 0) == 0; }

void check_row(const HostFile& file, size_t i, Problems& problems) {
  const auto& row = file.hosts[i].rdma;
  std::map<std::string, size_t> facing;
  for (size_t j = 0; j < row.size(); ++j) {
    if (i == j && !row[j].empty()) {
      problems.add(cell_place(file, i, j), "names a device that faces the host itself",
                   "the diagonal of the matrix is null");
      continue;
    }
    std::set<std::string> own;
    for (const std::string& device : row[j]) {
      if (!own.insert(device).second) {
        problems.add(cell_place(file, i, j), fmt::format("names {} twice", in_quotes(device)),
                     "each cable has a device of its own");
        continue;
      }
      const auto [other, fresh] = facing.emplace(device, j);
      if (fresh || !is_port_of_a_cable(device)) continue;
      problems.add(cell_place(file, i, j),
                   fmt::format("'{}' of {} faces {} already", device, file.hosts[i].name,
                               file.hosts[other->second].name),
                   "a cable has two ends: cell [i][j] is the device of host i that faces host j");
    }
  }
}

void check_pairs(const HostFile& file, Problems& problems) {
  for (size_t i = 0; i < file.hosts.size(); ++i) {
    for (size_t j = i + 1; j < file.hosts.size(); ++j) {
      const size_t there = file.hosts[i].rdma[j].size(), back = file.hosts[j].rdma[i].size();
      if (there == back) continue;
      problems.add(
          cell_place(file, i, j),
          fmt::format("{} has {} towards {}, which has {} towards {}", file.hosts[i].name,
                      devices(there), file.hosts[j].name, devices(back), file.hosts[i].name),
          "both ends of each cable stand in the matrix: [i][j] on host i, [j][i] on host j");
    }
  }
}

}  // namespace

std::string cell_place(const HostFile& file, size_t i, size_t j) {
  const bool bare = file.row != nullptr && !file.row->names_machines;
  return json_path(file.places[i] + (bare ? "" : ".rdma"), j);
}

bool check_matrix(const HostFile& file, Problems& problems) {
  const size_t n = file.hosts.size();
  const bool any = std::any_of(file.hosts.begin(), file.hosts.end(),
                               [](const ScenarioHost& host) { return !host.rdma.empty(); });
  if (!any) return false;
  bool square = true;
  for (size_t i = 0; i < n; ++i) {
    const size_t cells = file.hosts[i].rdma.size();
    if (cells == n) continue;
    square = false;
    problems.add(file.places[i],
                 cells == 0 ? fmt::format("{} has no row of the device matrix, others have",
                                          file.hosts[i].name)
                            : fmt::format("the row of {} has {} cells, but there are {} hosts",
                                          file.hosts[i].name, cells, n),
                 "the matrix is square: one cell per host, null for the host itself");
  }
  for (size_t i = 0; i < n; ++i) check_row(file, i, problems);
  if (square) check_pairs(file, problems);
  return square;
}

std::vector<ScenarioProblem> check_host_file(const HostFile& file, const BackendRow* backend) {
  Problems problems;
  check_backend_name(file, problems);
  check_machines(file, problems);
  check_addresses(file, problems);
  check_endpoints(file, problems);
  check_families(file, problems);
  check_matrix(file, problems);
  if (backend != nullptr) backend->check(file, problems);
  std::vector<ScenarioProblem> out = problems.take();
  for (ScenarioProblem& problem : out) problem.where = located(file, problem.where);
  return out;
}

}  // namespace plumbline
