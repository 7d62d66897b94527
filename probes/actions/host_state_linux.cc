#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <net/if.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <map>

#include "core/file.h"
#include "core/host/host_parse.h"
#include "probes/actions/host_state.h"
#include "probes/actions/netlink_linux.h"

namespace plumbline {
namespace {

// ---- counters ----

// How often the signal of each interface came or went: from the kernel itself, because sysfs may
// belong to another network namespace. Left out where it does not answer.
void read_carriers(Counters& out, const CounterFilter& wanted) {
  constexpr int64_t kWithinMs = 500;
  const ifinfomsg everything{};
  const NetlinkRequest request(RTM_GETLINK, NLM_F_DUMP, &everything, sizeof everything);
  const AgentCall call{Deadline::after_ms(kWithinMs)};
  const Status asked = ask_netlink(request, call, [&](const nlmsghdr& message) {
    const auto attributes = netlink_attributes(message, sizeof everything);
    const auto name = attributes.find(IFLA_IFNAME);
    if (name == attributes.end() || attributes.count(IFLA_CARRIER_CHANGES) == 0) return;
    const std::string plain = name->second.substr(0, name->second.find('\0'));
    const std::string counter = "if." + plain + ".carrier_changes";
    if (!wanted || wanted(counter)) out[counter] = netlink_number(attributes, IFLA_CARRIER_CHANGES);
  });
  static_cast<void>(asked);
}

// ---- neighbours ----

std::string interface_name(int index) {
  char name[IF_NAMESIZE] = "";
  return ::if_indextoname(static_cast<unsigned>(index), name) == nullptr ? "" : name;
}

// ---- sensors ----

namespace fs = std::filesystem;

constexpr size_t kMaxSensors = 64;  // of one kind
constexpr double kMilli = 1e-3;     // sysfs gives thousandths of a degree

std::string sensor_word(const fs::path& path) {
  return std::string(trimmed(read_system_file(path).substr(0, 256)));
}

// Names of the entries in a folder that begin with `start`, sorted; none when there is no folder.
std::vector<fs::path> entries(const fs::path& folder, const std::string& start) {
  std::vector<fs::path> out;
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    if (it->path().filename().string().rfind(start, 0) == 0) out.push_back(it->path());
  }
  std::sort(out.begin(), out.end());
  if (out.size() > kMaxSensors) out.resize(kMaxSensors);
  return out;
}

void add_temperature(const fs::path& file, const std::string& name, WatchState& state) {
  // Below zero is nothing that a cluster's machines report in earnest.
  const auto value = parse_count(sensor_word(file));
  if (value && *value < 200'000) {
    state.temperatures[name] = static_cast<double>(*value) * kMilli;
  }
}

void read_temperatures(const fs::path& root, WatchState& state) {
  for (const fs::path& zone : entries(root / "class/thermal", "thermal_zone")) {
    add_temperature(zone / "temp", sensor_word(zone / "type") + " " + zone.filename().string(),
                    state);
  }
  for (const fs::path& chip : entries(root / "class/hwmon", "hwmon")) {
    const std::string chip_name = sensor_word(chip / "name");
    for (const fs::path& file : entries(chip, "temp")) {
      std::string input = file.filename().string();
      const size_t end = input.rfind("_input");
      if (end == std::string::npos) continue;
      input.resize(end);
      const std::string label = sensor_word(chip / (input + "_label"));
      add_temperature(file, chip_name + " " + (label.empty() ? input : label), state);
    }
  }
}

// Sums over all CPUs: cores share packages, and the sum changes when any of them does.
void read_cpu(const fs::path& root, WatchState& state) {
  const fs::path folder = root / "devices/system/cpu";
  for (const fs::path& cpu : entries(folder, "cpu")) {
    std::error_code ignored;
    if (!fs::exists(cpu / "thermal_throttle", ignored)) continue;
    for (const char* kind : {"core_throttle_count", "package_throttle_count"}) {
      if (const auto count = parse_count(sensor_word(cpu / "thermal_throttle" / kind))) {
        state.throttled[kind] += static_cast<int64_t>(*count);
      }
    }
  }
  for (const char* name : {"scaling_governor", "scaling_max_freq"}) {
    const std::string value = sensor_word(folder / "cpu0/cpufreq" / name);
    if (!value.empty()) state.cpu[name] = value;
  }
}

// sysfs may belong to another network namespace: an interface is believed only when name and index
// agree.
void read_sysfs_carriers(const fs::path& root, const std::vector<Nic>& nics, WatchState& state) {
  for (const Nic& nic : nics) {
    if (state.carrier_changes.count(nic.name) > 0) continue;  // the kernel itself has told
    const fs::path folder = root / "class/net" / nic.name;
    if (parse_count(sensor_word(folder / "ifindex")) != static_cast<uint64_t>(nic.index)) continue;
    if (const auto changes = parse_count(sensor_word(folder / "carrier_changes"))) {
      state.carrier_changes[nic.name] = static_cast<int64_t>(*changes);
    }
  }
}

}  // namespace

Expected<Counters> read_counters(const CounterFilter& wanted) {
  const std::string folder = "/proc/thread-self/net/";
  Counters out;
  parse_snmp(read_system_file(folder + "snmp"), out, wanted);
  parse_snmp(read_system_file(folder + "netstat"), out, wanted);
  parse_snmp6(read_system_file(folder + "snmp6"), out, wanted);
  parse_net_devices(read_system_file(folder + "dev"), out, wanted);
  read_carriers(out, wanted);
  if (out.empty()) {
    return fail(ErrorCode::kUnsupported, "the counters of the kernel cannot be read here",
                "is /proc mounted?");
  }
  return out;
}

// ---- queues ----

std::map<int, int64_t> read_queue_drops(const AgentCall& call) {
  const tcmsg everything{};
  const NetlinkRequest request(RTM_GETQDISC, NLM_F_DUMP, &everything, sizeof everything);
  std::map<int, int64_t> out;
  const Status asked = ask_netlink(request, call, [&out](const nlmsghdr& message) {
    tcmsg entry{};
    if (message.nlmsg_type != RTM_NEWQDISC || !netlink_body(message, &entry, sizeof entry)) return;
    // The root counts what its children throw away.
    if (entry.tcm_parent != TC_H_ROOT) return;
    const auto attributes = netlink_attributes(message, sizeof entry);
    const auto found = attributes.find(TCA_STATS);
    tc_stats stats{};
    // Older and newer kernels pad it differently.
    constexpr size_t kEnough = offsetof(tc_stats, drops) + sizeof stats.drops;
    if (found == attributes.end() || found->second.size() < kEnough) return;
    std::memcpy(&stats, found->second.data(), std::min(found->second.size(), sizeof stats));
    out[entry.tcm_ifindex] = stats.drops;
  });
  static_cast<void>(asked);  // what was told until then is told
  return out;
}

std::optional<std::vector<WatchNeighbour>> read_neighbours(const std::set<std::string>& first,
                                                           size_t most, const AgentCall& call) {
  Expected<std::vector<KernelNeighbour>> table = kernel_neighbours(AF_UNSPEC, call);
  if (!table) return std::nullopt;
  std::stable_partition(table->begin(), table->end(), [&first](const KernelNeighbour& entry) {
    return first.count(entry.ip) > 0;
  });
  std::map<int, std::string> names;
  std::vector<WatchNeighbour> out;
  for (const KernelNeighbour& entry : *table) {
    // NOARP: multicast, broadcast, loopback. Without a state: not asked for yet.
    if (entry.state.empty() || entry.state == "NOARP") continue;
    if (out.size() == most) break;
    const auto [name, fresh] = names.try_emplace(entry.interface);
    if (fresh) name->second = interface_name(entry.interface);
    out.push_back({entry.ip, name->second, entry.state});
  }
  return out;
}

void read_sensors(const std::vector<Nic>& nics, WatchState& state, const std::string& root,
                  SensorMemory&) {
  read_temperatures(root, state);
  read_cpu(root, state);
  read_sysfs_carriers(root, nics, state);
}

}  // namespace plumbline
