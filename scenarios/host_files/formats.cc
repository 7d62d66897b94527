#include "scenarios/host_files/formats.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/shell_words.h"
#include "scenarios/host_words.h"

namespace plumbline {
namespace {

constexpr unsigned kOwnFacts = kFactName | kFactReach | kFactUser | kFactSshDetails | kFactBinary |
                               kFactData | kFactPrefix | kFactInterface | kFactSpeed | kFactGroup |
                               kFactRanks | kFactMatrix | kFactBackend | kFactEnvs |
                               kFactCoordinator;
constexpr unsigned kMlxFacts = kFactReach | kFactUser | kFactData | kFactMatrix | kFactCoordinator |
                               kFactControl | kFactFacing;

// The first that recognises a file reads it.
// name, help, names machines, keeps, recognise, read, write
constexpr HostFileFormat kFormats[] = {
    {"ours",
     "plumbline's own: {\"hosts\": [{\"name\": ..., \"ssh\": ..., \"data\": [...]}, ...]}, with "
     "\"backend\", \"envs\" and \"coordinator\" where they are wanted",
     true, kOwnFacts, is_own_form, read_own_form, write_own_form},
    {"mlx",
     "MLX: {\"backend\": ..., \"envs\": [...], \"hosts\": [{\"ssh\", \"ips\", \"rdma\"}, ...]}",
     true, kMlxFacts | kFactBackend | kFactEnvs, is_mlx_object, read_mlx, write_mlx_object},
    {"mlx-array", "MLX, the bare list: [{\"ssh\", \"ips\", \"rdma\"}, ...]", true, kMlxFacts,
     is_mlx_array, read_mlx, write_mlx_array},
    {"ring", "what an MLX ring's processes read (MLX_HOSTFILE): [[\"ip:port\", ...], ...]", true,
     kFactData | kFactPorts | kFactFacing | kFactRingBackend, is_ring_file, read_ring_file,
     write_ring_file},
    {"jaccl-matrix", "what JACCL's processes read (MLX_IBV_DEVICES): [[null, \"rdma_en3\"], ...]",
     false, kFactMatrix, is_device_matrix, read_device_matrix, write_device_matrix},
    {"mpi", "MPI's list: lines of HOST slots=N (Open MPI) or HOST:N (MPICH)", true,
     kFactReach | kFactRanks, is_mpi_list, read_mpi_list, write_mpi_list},
};

struct FactRow {
  HostFact bit;
  const char* words;
  bool (*said)(const HostFile& file, size_t host);
};

bool name_apart(const HostFile& file, size_t i) {
  const ScenarioHost& host = file.hosts[i];
  return !host.ssh.empty() && host.name != without_user(host.ssh) && file.ports.empty();
}

bool reached(const HostFile& file, size_t i) {
  const ScenarioHost& host = file.hosts[i];
  return host.local || !host.netns.empty() || !host.ssh.empty();
}

std::vector<std::string> control_ips(const HostFile& file, size_t i) {
  return is_ring(file) || i >= file.ips.size() ? std::vector<std::string>() : file.ips[i];
}

template <auto Field>
bool says(const HostFile& file, size_t i) {
  return !(file.hosts[i].*Field).empty();
}

bool has_prefix(const HostFile& file, size_t i) {
  const auto& data = file.hosts[i].data;
  return std::any_of(data.begin(), data.end(), [](const std::string& address) {
    return address.find('/') != std::string::npos;
  });
}

constexpr FactRow kFacts[] = {
    {kFactName, "name", name_apart},
    {kFactReach, "how to reach the hosts", reached},
    {kFactUser, "user",
     [](const HostFile& file, size_t i) {
       const ScenarioHost& host = file.hosts[i];
       return !host.user.empty() || host.ssh.find('@') != std::string::npos;
     }},
    {kFactSshDetails, "port or key of ssh",
     [](const HostFile& file, size_t i) {
       return file.hosts[i].port != 0 || !file.hosts[i].key.empty();
     }},
    {kFactBinary, "binary", says<&ScenarioHost::binary>},
    {kFactData, "data", says<&ScenarioHost::data>},
    {kFactPrefix, "prefix lengths of data", has_prefix},
    {kFactInterface, "interface", says<&ScenarioHost::interface>},
    {kFactSpeed, "speed", says<&ScenarioHost::speed>},
    {kFactGroup, "group", says<&ScenarioHost::group>},
    {kFactRanks, "ranks",
     [](const HostFile& file, size_t i) {
       return file.hosts[i].ranks != 1 || file.hosts[i].ranks_of_cores;
     }},
    {kFactMatrix, "rdma", says<&ScenarioHost::rdma>},
    {kFactCoordinator, "ips (the coordinator's address)",
     [](const HostFile& file, size_t i) {
       return i == 0 && (!file.coordinator.empty() || !control_ips(file, 0).empty());
     }},
    {kFactControl, "ips beside the coordinator's",
     [](const HostFile& file, size_t i) {
       return control_ips(file, i).size() > (i == 0 ? 1u : 0u);
     }},
    {kFactFacing, "that its ips may face the host before it only",
     [](const HostFile& file, size_t i) { return file.backend.empty() && file.hosts[i].ring; }},
    {kFactPorts, "ports",
     [](const HostFile& file, size_t i) {
       return i < file.ports.size() && !file.ports[i].empty();
     }},
};

}  // namespace

std::span<const HostFileFormat> host_file_formats() { return kFormats; }

const HostFileFormat* find_host_file_format(const std::string& name) {
  for (const HostFileFormat& row : kFormats) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::vector<std::string> lost_facts(const HostFile& file, unsigned keeps) {
  constexpr size_t kMostNames = 4;
  std::vector<std::string> lost;
  const bool implied = file.backend == "ring" && (keeps & kFactRingBackend) != 0;
  if (!file.backend.empty() && (keeps & kFactBackend) == 0 && !implied) {
    lost.emplace_back("backend");
  }
  if (!file.envs.empty() && (keeps & kFactEnvs) == 0) lost.emplace_back("envs");
  for (const FactRow& row : kFacts) {
    if ((keeps & row.bit) != 0) continue;
    std::string names;
    size_t count = 0;
    for (size_t i = 0; i < file.hosts.size(); ++i) {
      if (!row.said(file, i)) continue;
      if (++count <= kMostNames) names += (names.empty() ? "" : ", ") + file.hosts[i].name;
    }
    if (count == 0) continue;
    if (count > kMostNames) names += fmt::format(" and {} more", count - kMostNames);
    lost.push_back(fmt::format("{} ({})", row.words, names));
  }
  return lost;
}

// "NAME=value". The value may be a secret and never stands in a message.
void read_envs(const Json& list, HostFile& out, Problems& problems) {
  if (!list.is_array()) {
    problems.add("$.envs", "is no list", "write it as [\"NAME=value\", ...]");
    return;
  }
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string text = list[i].is_string() ? list[i].get<std::string>() : "";
    const size_t equals = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, equals);
    const std::string value = equals < text.size() ? text.substr(equals + 1) : "";
    const bool printable = std::none_of(value.begin(), value.end(),
                                        [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    if (!is_variable_name(name) || !printable) {
      problems.add(
          json_path("$.envs", i), "is no \"NAME=value\"",
          "a name has letters, digits and _, and begins with no digit; a value is one line");
      continue;
    }
    const bool known = std::any_of(out.envs.begin(), out.envs.end(),
                                   [&name](const auto& env) { return env.first == name; });
    if (known) {
      problems.add(json_path("$.envs", i), fmt::format("sets {} a second time", in_quotes(name)),
                   "keep one of them");
    }
    out.envs.emplace_back(name, value);
  }
}

void read_backend(const Json& text, HostFile& out, Problems& problems) {
  if (text.is_string()) {
    out.backend = text.get<std::string>();
  } else {
    problems.add("$.backend", "is no text", "write \"ring\", \"jaccl\" or \"jaccl-ring\"");
  }
}

Json envs_json(const HostFile& file) {
  Json envs = Json::array();
  for (const auto& [name, value] : file.envs) envs.push_back(name + "=" + value);
  return envs;
}

}  // namespace plumbline
