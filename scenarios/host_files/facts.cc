#include "scenarios/host_files/facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/host_words.h"

namespace plumbline {
namespace {

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
    {kFactBinary, "binary",
     [](const HostFile& file, size_t i) { return !file.hosts[i].binary.empty(); }},
    {kFactData, "data", [](const HostFile& file, size_t i) { return !file.hosts[i].data.empty(); }},
    {kFactPrefix, "prefix lengths of data", has_prefix},
    {kFactInterface, "interface",
     [](const HostFile& file, size_t i) { return !file.hosts[i].interface.empty(); }},
    {kFactSpeed, "speed",
     [](const HostFile& file, size_t i) { return !file.hosts[i].speed.empty(); }},
    {kFactGroup, "group",
     [](const HostFile& file, size_t i) { return !file.hosts[i].group.empty(); }},
    {kFactRanks, "ranks",
     [](const HostFile& file, size_t i) {
       return file.hosts[i].ranks != 1 || file.hosts[i].ranks_of_cores;
     }},
    {kFactMatrix, "rdma",
     [](const HostFile& file, size_t i) { return !file.hosts[i].rdma.empty(); }},
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

}  // namespace plumbline
