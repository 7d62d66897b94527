// macOS: `netstat -s` prints sentences with numbers in them; only those that the rules know are
// taken. The interface counters are those of getifaddrs(3).
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_var.h>
#include <sys/socket.h>

#include <sstream>

#include "core/clock.h"
#include "core/command.h"
#include "core/number.h"
#include "probes/actions/host_state.h"
#include "probes/sources/macos_power.h"

namespace plumbline {
namespace {

struct SentenceRow {
  const char* protocol;
  const char* begins;  // what stands behind the number
  const char* name;
};
constexpr SentenceRow kSentences[] = {
    {"tcp", "packets sent", "tcp.out_segments"},
    {"tcp", "packets received", "tcp.in_segments"},
    {"ip", "total packets received", "ip.in_receives"},
    {"ip", "packets for this host", "ip.in_delivers"},
    {"ip", "packets sent from this host", "ip.out_requests"},
    {"ip6", "total packets received", "ip6.in_receives"},
    {"ip6", "packets for this host", "ip6.in_delivers"},
    {"ip6", "packets sent from this host", "ip6.out_requests"},
};

void read_protocol(const std::string& protocol, Counters& counters) {
  const auto said = run_command({"netstat", "-s", "-p", protocol}, Deadline::after_ms(2000));
  if (!said) return;
  std::istringstream lines(said->out);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = std::min(line.find_first_not_of(" \t"), line.size());
    const size_t space = std::min(line.find(' ', first), line.size());
    const auto value = parse_whole(std::string_view(line).substr(first, space - first));
    if (!value || space == line.size()) continue;
    const std::string rest = line.substr(space + 1);
    for (const SentenceRow& row : kSentences) {
      if (protocol == row.protocol && rest.rfind(row.begins, 0) == 0 &&
          counters.count(row.name) == 0) {
        counters[row.name] = *value;
      }
    }
  }
}

void read_interfaces(Counters& counters) {
  ifaddrs* head = nullptr;
  if (::getifaddrs(&head) != 0) return;
  for (const ifaddrs* item = head; item != nullptr; item = item->ifa_next) {
    if (item->ifa_addr == nullptr || item->ifa_addr->sa_family != AF_LINK) continue;
    const auto* data = static_cast<const if_data*>(item->ifa_data);
    if (data == nullptr) continue;
    const std::string name = std::string("if.") + item->ifa_name + ".";
    counters[name + "rx_packets"] = data->ifi_ipackets;
    counters[name + "tx_packets"] = data->ifi_opackets;
    counters[name + "rx_errors"] = data->ifi_ierrors;
    counters[name + "tx_errors"] = data->ifi_oerrors;
    counters[name + "rx_bytes"] = data->ifi_ibytes;
    counters[name + "tx_bytes"] = data->ifi_obytes;
    counters[name + "rx_dropped"] = data->ifi_iqdrops;
  }
  ::freeifaddrs(head);
}

std::map<std::string, std::string> read_power(Deadline deadline) {
  std::map<std::string, std::string> out;
  if (const auto said = run_command({"pmset", "-g", "therm"}, deadline)) {
    out = parse_pmset_therm(said->out);
  }
  if (const auto said = run_command({"pmset", "-g"}, deadline)) {
    if (const auto low = parse_low_power_mode(said->out)) {
      out["low_power_mode"] = *low ? "on" : "off";
    }
  }
  return out;
}

}  // namespace

Expected<Counters> read_counters(const CounterFilter& wanted) {
  Counters out;
  for (const char* protocol : {"tcp", "ip", "ip6"}) read_protocol(protocol, out);
  read_interfaces(out);
  if (out.empty()) return fail(ErrorCode::kUnsupported, "no counters can be read on this system");
  std::erase_if(out, [&](const auto& each) { return wanted && !wanted(each.first); });
  return out;
}

// No public interface tells; the interface's own counters are all there is.
std::map<int, int64_t> read_queue_drops(const AgentCall&) { return {}; }

// arp(8) and ndp(8) would have to be started every second; they tell no states either.
std::optional<std::vector<WatchNeighbour>> read_neighbours(const std::set<std::string>&, size_t,
                                                           const AgentCall&) {
  return std::nullopt;
}

// powermetrics needs root, and the sensors have no public interface: what is left is what the
// system's power management says. It is asked every few seconds at most, because a program has to
// be started for it, twice.
void read_sensors(const std::vector<Nic>&, WatchState& state, const std::string&,
                  SensorMemory& memory) {
  constexpr int64_t kEveryMs = 5000, kWithinMs = 1000;
  const std::lock_guard lock(memory.mutex);
  if (memory.again.passed()) {
    memory.cpu = read_power(Deadline::after_ms(kWithinMs));
    memory.again = Deadline::after_ms(kEveryMs);
  }
  state.cpu.insert(memory.cpu.begin(), memory.cpu.end());
}

}  // namespace plumbline
