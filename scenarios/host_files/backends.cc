#include "scenarios/host_files/backends.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/ip.h"
#include "core/json.h"
#include "scenarios/host_files/formats.h"

namespace plumbline {
namespace {

constexpr size_t kMostJacclRanks = 8;  // JACCL's mesh
constexpr size_t kMostWires = 4;       // JACCL's ring, per direction
constexpr int kNcclPort = 12345;       // mlx.launch --nccl-port

// The host of every rank, block-wise.
std::vector<size_t> ranks_of(const HostFile& file) {
  std::vector<size_t> out;
  for (size_t i = 0; i < file.hosts.size(); ++i) {
    out.insert(out.end(), static_cast<size_t>(file.hosts[i].ranks), i);
  }
  return out;
}

// One environment per rank: the file's own, then `shared`, then what depends on the rank.
template <typename OfRank>
std::vector<EnvironmentList> environments(const HostFile& file, const EnvironmentList& shared,
                                          OfRank of_rank) {
  std::vector<EnvironmentList> out;
  for (size_t rank = 0; rank < ranks_of(file).size(); ++rank) {
    EnvironmentList& env = out.emplace_back(file.envs);
    env.insert(env.end(), shared.begin(), shared.end());
    for (auto& variable : of_rank(rank)) env.push_back(std::move(variable));
    env.emplace_back("MLX_RANK", std::to_string(rank));
  }
  return out;
}

EnvironmentList nothing(size_t) { return {}; }

// ---- rules that several backends share ----

// JACCL and MLX's ring open IPv4 sockets only and split "ip:port" at the first colon.
void need_v4(const std::string& ip, const std::string& where, const char* who, Problems& problems) {
  if (!is_v6(ip)) return;
  problems.add(where, fmt::format("'{}' is IPv6, which {} cannot parse", ip, who),
               "give an IPv4 address");
}

void need_two(const HostFile& file, Problems& problems) {
  const bool unknown = std::any_of(file.hosts.begin(), file.hosts.end(),
                                   [](const ScenarioHost& host) { return host.ranks_of_cores; });
  if (ranks_of(file).size() >= 2 || unknown) return;
  problems.add(file.file, "has one rank only",
               "MLX would run it alone, and its collectives do nothing");
}

void need_coordinator(const HostFile& file, const char* who, bool v4, Problems& problems) {
  const std::string where = file.places.empty() ? file.file : file.places[0];
  const Expected<std::string> ip = coordinator_address(file);
  if (!ip) {
    problems.add(where, ip.error().what, ip.error().hint);
    return;
  }
  if (v4) need_v4(*ip, where, who, problems);
  if (*ip == "0.0.0.0" || *ip == "::" || (is_loopback_ip(*ip) && !all_local(file.hosts))) {
    problems.add(where, fmt::format("'{}' of rank 0 is no address that the others could dial", *ip),
                 "write the address of the first host that they reach");
  }
}

// One rank per host, in a whole matrix.
bool need_devices(const HostFile& file, Problems& problems) {
  for (size_t i = 0; i < file.hosts.size(); ++i) {
    if (file.hosts[i].ranks == 1) continue;
    problems.add(file.places[i],
                 fmt::format("{} has {} ranks", file.hosts[i].name, file.hosts[i].ranks),
                 "JACCL runs one rank per host: a device cannot reach its own host");
  }
  const auto local = std::count_if(file.hosts.begin(), file.hosts.end(),
                                   [](const ScenarioHost& host) { return host.local; });
  if (local > 1) {
    problems.add(file.file, "names this machine more than once",
                 "JACCL runs one rank per host: a device cannot reach its own host");
  }
  Problems matrix;  // its problems are reported already
  if (check_matrix(file, matrix)) return true;
  if (matrix.empty()) {
    problems.add(file.file, "has no device matrix", "give every host a key `rdma`");
  }
  return false;
}

// ---- jaccl ----

void check_jaccl(const HostFile& file, Problems& problems) {
  need_two(file, problems);
  if (file.row->names_machines) need_coordinator(file, "JACCL", true, problems);
  const size_t n = file.hosts.size();
  if (n > kMostJacclRanks) {
    problems.add(file.file, fmt::format("has {} hosts", n),
                 fmt::format("JACCL's mesh takes at most {}; use jaccl-ring", kMostJacclRanks));
  }
  if (!need_devices(file, problems)) return;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      if (i == j || !file.hosts[i].rdma[j].empty()) continue;
      problems.add(
          cell_place(file, i, j),
          fmt::format("{} has no device towards {}", file.hosts[i].name, file.hosts[j].name),
          "JACCL's mesh needs a cable between every two hosts; jaccl-ring only between neighbours");
    }
  }
}

void check_jaccl_ring(const HostFile& file, Problems& problems) {
  need_two(file, problems);
  if (file.row->names_machines) need_coordinator(file, "JACCL", true, problems);
  if (!need_devices(file, problems)) return;
  const size_t n = file.hosts.size();
  const size_t wires = file.hosts[0].rdma[1 % n].size();
  for (size_t i = 0; i < n; ++i) {
    for (const size_t j : {(i + n - 1) % n, (i + 1) % n}) {
      const size_t here = file.hosts[i].rdma[j].size();
      if (i == j || (here == wires && here >= 1 && here <= kMostWires)) continue;
      problems.add(
          cell_place(file, i, j),
          fmt::format("{} has {} devices towards its neighbour {}, the first two hosts have {}",
                      file.hosts[i].name, here, file.hosts[j].name, wires),
          fmt::format("all neighbours of the ring have the same number of cables, 1 to {}",
                      kMostWires));
    }
  }
}

Expected<LaunchFiles> jaccl_files(const HostFile& file, const LaunchRequest& request, bool ring) {
  const char* name = "devices.json";
  const Expected<std::string> matrix = write_device_matrix(file, 0);
  if (!matrix) return fail(matrix.error());
  const Expected<std::string> ip = coordinator_address(file);
  if (!ip) return fail(ip.error());
  const std::string devices = request.folder + "/" + name;
  const std::string coordinator =
      fmt::format("{}:{}", *ip, request.port == 0 ? kMlxStartingPort : request.port);
  EnvironmentList shared;
  // The names without MLX_ are those of JACCL as a library of its own, and win.
  for (const char* prefix : {"MLX_", ""}) {
    shared.emplace_back(fmt::format("{}IBV_DEVICES", *prefix != '\0' ? prefix : "JACCL_"), devices);
    shared.emplace_back(fmt::format("{}JACCL_COORDINATOR", prefix), coordinator);
    if (ring) shared.emplace_back(fmt::format("{}JACCL_RING", prefix), "1");
  }
  return LaunchFiles{{{name, *matrix}}, environments(file, shared, [](size_t rank) {
                       return EnvironmentList{{"JACCL_RANK", std::to_string(rank)}};
                     })};
}

Expected<LaunchFiles> jaccl_mesh_files(const HostFile& file, const LaunchRequest& request) {
  return jaccl_files(file, request, false);
}
Expected<LaunchFiles> jaccl_ring_files(const HostFile& file, const LaunchRequest& request) {
  return jaccl_files(file, request, true);
}

// ---- ring ----

void check_ring(const HostFile& file, Problems& problems) {
  need_two(file, problems);
  size_t sockets = 0;
  for (size_t i = 0; i < file.hosts.size(); ++i) {
    const Expected<std::vector<std::string>> ips = ring_addresses(file, i);
    if (!ips) {
      problems.add(file.places[i], ips.error().what, ips.error().hint);
      continue;
    }
    for (const std::string& ip : *ips) need_v4(ip, file.places[i], "MLX's ring", problems);
    if (sockets == 0) sockets = ips->size();
    if (ips->size() == sockets) continue;
    problems.add(file.places[i],
                 fmt::format("{} has {} addresses towards the host before it, the first one has {}",
                             file.hosts[i].name, ips->size(), sockets),
                 "each address is a socket, and all neighbours need the same number");
  }
}

Expected<LaunchFiles> ring_files(const HostFile& file, const LaunchRequest& request) {
  const char* name = "ring.json";
  const Expected<std::string> ring = write_ring_file(file, request.port);
  if (!ring) return fail(ring.error());
  const EnvironmentList shared = {{"MLX_HOSTFILE", request.folder + "/" + name}};
  return LaunchFiles{{{name, *ring}}, environments(file, shared, nothing)};
}

// ---- nccl ----

void check_nccl(const HostFile& file, Problems& problems) {
  need_two(file, problems);
  need_coordinator(file, "NCCL", false, problems);
}

Expected<LaunchFiles> nccl_files(const HostFile& file, const LaunchRequest& request) {
  const Expected<std::string> ip = coordinator_address(file);
  if (!ip) return fail(ip.error());
  // Two entries of one machine share its devices.
  std::vector<std::string> machines;
  for (const size_t host : ranks_of(file)) machines.push_back(machine_of(file.hosts[host]));
  const EnvironmentList shared = {
      {"NCCL_HOST_IP", *ip},
      {"NCCL_PORT", std::to_string(request.port == 0 ? kNcclPort : request.port)},
      {"MLX_WORLD_SIZE", std::to_string(machines.size())}};
  return LaunchFiles{{}, environments(file, shared, [&machines](size_t rank) {
                       const auto end = machines.begin() + static_cast<std::ptrdiff_t>(rank);
                       const auto index = std::count(machines.begin(), end, machines[rank]);
                       return EnvironmentList{{"CUDA_VISIBLE_DEVICES", std::to_string(index)}};
                     })};
}

// ---- mpi ----

void check_mpi(const HostFile& file, Problems& problems) {
  need_two(file, problems);
  for (size_t i = 0; i < file.hosts.size(); ++i) {
    if (!file.hosts[i].ssh.empty() || file.hosts[i].local) continue;
    problems.add(file.places[i], fmt::format("mpirun cannot reach {}", file.hosts[i].name),
                 "it starts processes by ssh: name the host by `ssh`");
  }
}

Expected<LaunchFiles> mpi_files(const HostFile& file, const LaunchRequest&) {
  const Expected<std::string> list = write_mpi_list(file, 0);
  if (!list) return fail(list.error());
  // mpirun tells each process its rank.
  return LaunchFiles{{{"hostfile", *list}},
                     std::vector<EnvironmentList>(ranks_of(file).size(), file.envs)};
}

constexpr BackendRow kBackends[] = {
    {"ring", "MLX's ring over TCP: every host is connected to the ones before and behind it",
     check_ring, ring_files},
    {"jaccl", "JACCL's mesh: RDMA over Thunderbolt, a cable between every two hosts, 8 at most",
     check_jaccl, jaccl_mesh_files},
    {"jaccl-ring", "JACCL's ring: 1 to 4 cables between neighbours", check_jaccl_ring,
     jaccl_ring_files},
    {"nccl", "NCCL on CUDA: rank 0's address is all it needs", check_nccl, nccl_files},
    {"mpi", "mpirun starts the ranks; names of machines are all it needs", check_mpi, mpi_files},
};

}  // namespace

std::span<const BackendRow> backend_table() { return kBackends; }

const BackendRow* find_backend(const std::string& name) {
  for (const BackendRow& row : kBackends) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

}  // namespace plumbline
