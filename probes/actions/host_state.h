// What an agent reads of its own host again and again while others measure: the counters of the
// network stack (of the own network namespace), packets that the queues threw away (tc(8): a full
// queue, a policer, netem; the counters of the interface do not hold them), the neighbours that the
// system knows (its own table of ARP, RFC 826, and neighbour discovery, RFC 4861, as it stands),
// heat, clock rates and cables that were pulled. Read-only, needs no privilege, sends nothing.
// Platform code: host_state_linux.cc (proc(5), rtnetlink(7), sysfs: Documentation/ABI/testing/
// sysfs-class-thermal, -hwmon, -net; cpufreq.txt), host_state_macos.cc. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "core/host/host.h"
#include "probes/gather/host_watch.h"

namespace plumbline {

// By the names of docs/agent_protocol.md: "tcp.out_segments", "ip.in_discards",
// "if.eth0.rx_packets"; those of IPv6 begin with "ip6.", every other one of the kernel's appears as
// "TcpExt.ListenDrops".
using Counters = std::map<std::string, int64_t>;

// By that name. Empty: all of them.
using CounterFilter = std::function<bool(std::string_view name)>;

// What `wanted` leaves out costs little more than the kernel's text.
Expected<Counters> read_counters(const CounterFilter& wanted = {});
// later - earlier; names that only one of them has are left out, and so are those that went
// backwards (an interface that was made anew).
Counters counters_difference(const Counters& earlier, const Counters& later);

// Of the files' text, for tests; what makes no sense is left out.
void parse_snmp(const std::string& text, Counters& counters,
                const CounterFilter& wanted = {});  // snmp, netstat
void parse_snmp6(const std::string& text, Counters& counters,
                 const CounterFilter& wanted = {});  // snmp6
void parse_net_devices(const std::string& text, Counters& counters,
                       const CounterFilter& wanted = {});  // dev

// By the interface's index, since the queue exists; 32 bits that wrap. Empty where the system does
// not tell.
std::map<int, int64_t> read_queue_drops(const AgentCall& call);

// At most `most`, those with an address in `first` before all others; without multicast and what
// needs no resolution. Nothing where the system does not tell.
std::optional<std::vector<WatchNeighbour>> read_neighbours(const std::set<std::string>& first,
                                                           size_t most, const AgentCall& call);

// What is not asked again at each look, because a program has to be started for it.
struct SensorMemory {
  std::mutex mutex;
  std::map<std::string, std::string> cpu;
  Deadline again = Deadline::after_ms(0);
};
// Fills in temperatures, throttled, cpu and, of interfaces that have none yet, carrier_changes.
// `root`: for tests, else "/sys".
void read_sensors(const std::vector<Nic>& nics, WatchState& state, const std::string& root,
                  SensorMemory& memory);

}  // namespace plumbline
