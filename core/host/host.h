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

#include "core/error.h"

namespace plumbline {

struct NicAddress {
  std::string ip;  // "10.10.0.1" or "fe80::1"
  int prefix = 0;  // length in bits
  bool v6 = false;
  bool link_local = false;
  bool loopback = false;
  bool operator==(const NicAddress&) const = default;
};

struct Nic {
  std::string name;  // "en4", "eth0"
  int index = 0;     // kernel's interface index
  std::string
      kind;  // "loopback" | "ethernet" | "wifi" | "bridge" | "tunnel" | "virtual" | "unknown"
  bool up = false;                    // administratively
  bool carrier = false;               // signal on the wire
  int mtu = 0;                        // bytes
  std::optional<uint64_t> speed_bps;  // bits per second; absent for virtual interfaces
  std::string mac;                    // "02:00:00:00:00:01", empty when none
  std::string master;                 // bridge or bond that it belongs to
  std::vector<NicAddress> addresses;
};

// All interfaces with their addresses, in index order.
Expected<std::vector<Nic>> list_nics();

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

}  // namespace plumbline
