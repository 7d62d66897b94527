// Steps that several models take: addresses of a host in the order of getifaddrs(3), lists of
// interface names with their prefixes and exclusions, ports out of variables, and writing down what
// was found. Pure functions, thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/stacks/stack.h"

namespace plumbline {

struct StackAddress {
  const InterfaceEvidence* interface = nullptr;
  const AddressEvidence* address = nullptr;
};

// "eth1 10.10.0.1".
std::string shown(const StackAddress& at);
// What a library asks of an interface: that it is up (IFF_UP), or also has a signal (IFF_RUNNING).
// The docker0 of a machine without containers is up, and has none.
enum class Wants { kUp, kRunning };
// Of such interfaces, by the kernel's index, as getifaddrs(3) gives them on Linux: of each first
// IPv4, then global IPv6, then link-local.
std::vector<StackAddress> addresses_in_order(const HostEvidence& host, Wants wants);
// The first of them for which it holds; of all that are up where nothing is said.
std::optional<StackAddress> first_address(const HostEvidence& host,
                                          const std::function<bool(const StackAddress&)>& holds,
                                          Wants wants = Wants::kUp);
// The interface that has this address, loopback's whole 127/8 included.
std::optional<StackAddress> carrier_on(const HostEvidence& host, const std::string& ip);
bool shares_subnet(const StackAddress& at, const std::string& ip);
bool is_loopback(const StackAddress& at);

// One rank while its plan is made.
class PlannedRank {
 public:
  PlannedRank(const StackQuestion& question, StackPlan& plan, size_t rank);

  bool known() const;  // its host has told anything
  const HostEvidence& host() const { return *host_; }
  StackRank& rank() { return rank_; }
  // The variable's value; empty when it is not set, or set to nothing.
  std::string variable(const std::string& name) const;
  bool is_set(const std::string& name) const;
  // A port that a variable holds: `fallback` when it is not set; 0 and a trap when it holds
  // something else.
  int port(const std::string& name, int fallback);

  void choose(const StackAddress& at, const std::string& why);
  void choose(const std::string& ip, const std::string& why);  // an address of no known interface
  void cannot(const std::string& why);
  void fixed(const std::string& purpose, const std::string& ip, int port);
  void window(const std::string& purpose, const std::string& ip, int first, int last);
  void ephemeral(const std::string& purpose, const std::string& ip);
  // A fault of this rank's choice.
  void trap(const char* cause, const char* severity, const std::string& text,
            const std::string& remedy, std::vector<int> ports = {});

 private:
  StackPlan& plan_;
  StackRank& rank_;
  const HostEvidence* host_;
  const StackEnvironment& environment_;
};

// Where ranks meet through PyTorch's store: MASTER_ADDR and MASTER_PORT, and rank 0 listens there
// on every address. Source: torch/distributed/rendezvous.py (env://), torch/csrc/distributed/c10d/
// TCPStore.cpp.
void plan_torch_store(const StackQuestion& question, StackPlan& plan);

// The address of this host that is meant by the host file, or its first that is no loopback: for
// remedies.
std::string meant_interface(const StackPlan& plan, const HostEvidence& host);
// "set GLOO_SOCKET_IFNAME=eth1 for the ranks on a".
std::string set_interface(const StackPlan& plan, const HostEvidence& host);

}  // namespace plumbline
