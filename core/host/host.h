// Facts about the machine that belong beside every number: CPU, cores that are really usable,
// governor, load, kernel, memory, network cards, socket-buffer limits, virtualisation, library
// versions, and an allow-listed handful of environment variables (never the whole environment: it
// holds people's tokens). Reading is free of side effects, needs no privilege and takes a few ms;
// an unknown fact is absent, not guessed. Platform code: host_linux.cc, host_macos.cc. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/field.h"
#include "core/host/nics.h"

namespace plumbline {

struct HostFacts {
  std::string hostname;
  std::string os;      // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;  // "Linux 6.18.0 x86_64"
  std::string arch;    // "x86_64"
  std::string cpu_model;
  int cores_online = 0;
  int cores_usable = 0;  // after affinity and cgroup quota, rounded up; at least 1
  std::optional<double> cgroup_quota_cores;  // e.g. 1.5
  std::optional<std::string> governor;       // "performance"
  std::optional<std::string> clock_source;   // "tsc"
  std::optional<double> load1;               // 1-minute load average
  uint64_t memory_bytes = 0;
  uint64_t memory_available_bytes = 0;
  std::optional<std::string> virtualisation;      // "kvm", "docker" ...
  std::optional<std::string> congestion_control;  // system default, "cubic"
  std::optional<uint64_t> rmem_max, wmem_max;     // bytes; largest buffers a socket may ask for
  std::pair<int, int> ephemeral_ports{0, 0};      // first, last; {0,0} unknown
  std::string boot_id;                            // tells reboots apart; empty when unknown
  std::vector<Nic> nics;
  std::map<std::string, std::string> libraries;    // name -> version
  std::map<std::string, std::string> environment;  // allow-listed variables only
};

HostFacts read_host_facts();
// Names (or "PREFIX_*" patterns) of the environment variables that may appear in a record.
const std::vector<std::string>& environment_allow_list();

void to_json(nlohmann::json& json, const HostFacts& facts);
void from_json(const nlohmann::json& json, HostFacts& facts);
void to_json(nlohmann::json& json, const Nic& nic);
void from_json(const nlohmann::json& json, Nic& nic);

PLUMBLINE_FIELDS(NicAddress);  // core/host/host.cc, as all of them
PLUMBLINE_FIELDS(Nic);
PLUMBLINE_FIELDS(HostFacts);

}  // namespace plumbline
