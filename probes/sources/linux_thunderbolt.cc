// /sys/bus/thunderbolt/devices, after sysfs-bus-thunderbolt of the kernel's ABI documentation:
// "0-0" is this host's own controller, "0-1" what is plugged into its port 1 and "0-301" what is
// behind that, a byte of the route for each step. A computer is a thunderbolt_xdomain, a dock or
// hub a thunderbolt_device; the network interface towards a computer lies below its service,
// "0-1.0".
#include <map>

#include "core/host/host_parse.h"
#include "core/number.h"
#include "core/text.h"
#include "probes/sources/parsers.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

constexpr std::string_view kFolder = "/sys/bus/thunderbolt/devices/";
constexpr size_t kMostOnTheBus = 256, kMostLinks = 64;

struct Device {
  std::map<std::string, std::string, std::less<>> values;  // by file
  std::string interface;
  const std::string& value(std::string_view file) const {
    static const std::string kNone;
    const auto found = values.find(file);
    return found == values.end() ? kNone : found->second;
  }
};
using Devices = std::map<std::string, Device, std::less<>>;

void read_device_line(std::string_view path, std::string_view line, Devices& devices) {
  if (path.rfind(kFolder, 0) != 0) return;
  path.remove_prefix(kFolder.size());
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos || slash == 0) return;
  const std::string name(path.substr(0, slash));
  const std::string_view file = path.substr(slash + 1);
  if (devices.count(name) == 0 && devices.size() >= kMostOnTheBus) return;
  Device& device = devices[name];
  constexpr std::string_view kType = "DEVTYPE=", kNet = "net/", kIndex = "/ifindex";
  if (file == "uevent") {
    if (line.rfind(kType, 0) == 0) device.values["type"] = line.substr(kType.size());
  } else if (file.rfind(kNet, 0) == 0 && file.size() > kNet.size() + kIndex.size()) {
    device.interface = file.substr(kNet.size(), file.size() - kNet.size() - kIndex.size());
  } else {
    device.values.emplace(std::string(file), std::string(trimmed(line)));
  }
}

std::string domain_of(const Device& device) {
  const std::string& id = device.value("unique_id");
  for (const char c : id) {
    if (!is_alnum(c) && c != '-') return {};
  }
  return id.size() <= 64 ? lower_case(id) : std::string();
}

// Steps of "0-301": two. A route that is none counts one.
int steps_of(std::string_view name) {
  const size_t dash = name.find('-');
  const size_t digits = dash == std::string_view::npos ? 1 : name.size() - dash - 1;
  return static_cast<int>((digits + 1) / 2);
}

// "20.0 Gb/s" of each lane.
std::optional<int64_t> speed_of(const Device& device) {
  const auto lane = leading_whole(device.value("rx_speed"));
  const auto lanes = parse_whole<int64_t>(device.value("rx_lanes"), 1, 16);
  if (!lane || !lanes || *lane <= 0 || *lane > 1000) return std::nullopt;
  return *lane * *lanes * 1'000'000'000;
}

}  // namespace

Status parse_sys_bus_thunderbolt(const std::string& text, HostEvidence& host) {
  Devices devices;
  for (const auto& [path, line] : file_lines(text)) read_device_line(path, line, devices);
  std::vector<ThunderboltPort> ports;
  std::map<std::string, bool> connected;  // by the number of the controller
  for (const auto& [name, device] : devices) {
    if (device.value("type") != "thunderbolt_xdomain" || ports.size() >= kMostLinks) continue;
    const std::string number = name.substr(0, name.find('-'));
    const auto own = devices.find(number + "-0");
    ThunderboltPort port;
    if (own != devices.end()) port.domain = domain_of(own->second);
    const std::string peer = domain_of(device);
    if (!peer.empty()) port.peers.push_back({peer, steps_of(name) - 1});
    port.speed_bps = speed_of(device);
    for (const auto& [service, below] : devices) {
      if (service.rfind(name + ".", 0) == 0 && !below.interface.empty()) {
        port.interface = below.interface;
      }
    }
    connected[number] = true;
    ports.push_back(std::move(port));
  }
  for (const auto& [name, device] : devices) {
    const size_t dash = name.find("-0");
    if (dash == std::string::npos || dash + 2 != name.size() || connected[name.substr(0, dash)]) {
      continue;
    }
    ThunderboltPort port;
    port.domain = domain_of(device);
    if (!port.domain.empty() && ports.size() < kMostLinks) ports.push_back(std::move(port));
  }
  for (const ThunderboltPort& port : ports) {
    for (InterfaceEvidence& interface : host.interfaces) {
      if (interface.name == port.interface && port.speed_bps) {
        interface.speed_bps = port.speed_bps;
      }
    }
  }
  if (!ports.empty()) host.thunderbolt = std::move(ports);
  return {};
}

}  // namespace plumbline
