#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/host/host_parse.h"
#include "probes/actions/sensors.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxSensors = 64;  // of one kind
constexpr double kMilli = 1e-3;     // sysfs gives thousandths of a degree

std::string word_of(const fs::path& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return std::string(trimmed(text.substr(0, 256)));
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
  const auto value = parse_count(word_of(file));
  if (value && *value < 200'000) {
    state.temperatures[name] = static_cast<double>(*value) * kMilli;
  }
}

void read_temperatures(const fs::path& root, WatchState& state) {
  for (const fs::path& zone : entries(root / "class/thermal", "thermal_zone")) {
    add_temperature(zone / "temp", word_of(zone / "type") + " " + zone.filename().string(), state);
  }
  for (const fs::path& chip : entries(root / "class/hwmon", "hwmon")) {
    const std::string chip_name = word_of(chip / "name");
    for (const fs::path& file : entries(chip, "temp")) {
      std::string input = file.filename().string();
      const size_t end = input.rfind("_input");
      if (end == std::string::npos) continue;
      input.resize(end);
      const std::string label = word_of(chip / (input + "_label"));
      add_temperature(file, chip_name + " " + (label.empty() ? input : label), state);
    }
  }
}

// Sums over all CPUs: cores share packages, and the sum changes when any of them does.
void read_cpu(const fs::path& root, WatchState& state) {
  const fs::path folder = root / "devices/system/cpu";
  for (const fs::path& cpu : entries(folder, "cpu")) {
    for (const char* kind : {"core_throttle_count", "package_throttle_count"}) {
      if (const auto count = parse_count(word_of(cpu / "thermal_throttle" / kind))) {
        state.throttled[kind] += static_cast<int64_t>(*count);
      }
    }
  }
  for (const char* name : {"scaling_governor", "scaling_max_freq"}) {
    const std::string value = word_of(folder / "cpu0/cpufreq" / name);
    if (!value.empty()) state.cpu[name] = value;
  }
}

// sysfs may belong to another network namespace: an interface is believed only when name and index
// agree.
void read_carriers(const fs::path& root, const std::vector<Nic>& nics, WatchState& state) {
  for (const Nic& nic : nics) {
    const fs::path folder = root / "class/net" / nic.name;
    if (parse_count(word_of(folder / "ifindex")) != static_cast<uint64_t>(nic.index)) continue;
    if (const auto changes = parse_count(word_of(folder / "carrier_changes"))) {
      state.carrier_changes[nic.name] = static_cast<int64_t>(*changes);
    }
  }
}

}  // namespace

void read_sensors(const std::vector<Nic>& nics, WatchState& state, const std::string& root) {
  read_temperatures(root, state);
  read_cpu(root, state);
  read_carriers(root, nics, state);
}

}  // namespace plumbline
