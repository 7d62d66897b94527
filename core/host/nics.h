// The network cards of this machine with their addresses. Reading is free of side effects, needs no
// privilege and takes a few ms. Platform code: nics_linux.cc, nics_macos.cc. Thread-safe.
#pragma once

#include <cstdint>
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

}  // namespace plumbline
