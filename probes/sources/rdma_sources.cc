#include <algorithm>
#include <map>

#include "core/host/host_parse.h"
#include "core/number.h"
#include "probes/sources/linux_sources.h"
#include "probes/sources/text_lines.h"

namespace plumbline {
namespace {

constexpr size_t kMostGids = 256;  // of one port; more is nonsense

RdmaDevice& port_of(HostEvidence& host, const std::string& name, int port) {
  if (!host.rdma) host.rdma.emplace();
  auto& devices = host.rdma->devices;
  const auto it = std::find_if(devices.begin(), devices.end(), [&](const RdmaDevice& device) {
    return device.name == name && device.port == port;
  });
  if (it != devices.end()) return *it;
  RdmaDevice device;
  device.name = name;
  device.port = port;
  devices.push_back(std::move(device));
  return devices.back();
}

bool empty_gid(std::string_view gid) {
  return gid.find_first_not_of("0:") == std::string_view::npos || gid == "fe80::" ||
         gid == "fe80:0000:0000:0000:0000:0000:0000:0000";
}

void put_gid(RdmaDevice& device, std::string_view index, std::string_view gid) {
  const auto at = parse_whole(index);
  if (!at || *at < 0 || *at >= static_cast<int64_t>(kMostGids)) return;
  if (device.gids.size() <= static_cast<size_t>(*at)) device.gids.resize(*at + 1);
  if (!empty_gid(gid)) device.gids[*at] = gid;
}

// Entries behind the last used one say nothing.
void trim_gids(HostEvidence& host) {
  if (!host.rdma) return;
  for (RdmaDevice& device : host.rdma->devices) {
    while (!device.gids.empty() && device.gids.back().empty()) device.gids.pop_back();
  }
}

// "4: ACTIVE" -> "ACTIVE"; "PORT_ACTIVE (4)" -> "ACTIVE".
std::string state_of(std::string_view text) {
  const auto words = words_of(text);
  if (words.empty()) return {};
  if (words[0].rfind("PORT_", 0) == 0) return std::string(words[0].substr(5));
  return std::string(words.back());
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    out.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return out;
}

void read_port_file(RdmaDevice& device, const std::vector<std::string_view>& parts,
                    std::string_view line) {
  if (parts[3] == "state") device.state = state_of(line);
  if (parts[3] == "link_layer") device.link_layer = trimmed(line);
  if (parts[3] == "gids" && parts.size() == 5) put_gid(device, parts[4], trimmed(line));
  const bool netdev = parts[3] == "gid_attrs" && parts.size() == 6 && parts[4] == "ndevs";
  if (netdev && device.netdev.empty()) device.netdev = trimmed(line);
}

}  // namespace

Status parse_sys_class_infiniband(const std::string& text, HostEvidence& host) {
  constexpr std::string_view kFolder = "/sys/class/infiniband/";
  std::map<std::string, std::string, std::less<>> transports;
  for (const auto& [path, line] : file_lines(text)) {
    if (path.rfind(kFolder, 0) != 0) continue;
    const auto parts = parts_of(path.substr(kFolder.size()));
    // mlx5_0/node_type; mlx5_0/ports/1/state
    if (parts.size() == 2 && parts[1] == "node_type") {
      transports[std::string(parts[0])] =
          line.find("RNIC") != std::string_view::npos ? "iWARP" : "InfiniBand";
    }
    if (parts.size() < 4 || parts[1] != "ports") continue;
    const auto port = parse_whole(parts[2]);
    if (!port || *port < 1 || *port > 255) continue;
    RdmaDevice& device = port_of(host, std::string(parts[0]), static_cast<int>(*port));
    read_port_file(device, parts, line);
  }
  if (host.rdma) {
    for (RdmaDevice& device : host.rdma->devices) device.transport = transports[device.name];
  }
  trim_gids(host);
  return {};
}

Status parse_ibv_devinfo(const std::string& text, HostEvidence& host) {
  std::string name, transport;
  RdmaDevice* device = nullptr;
  for (const std::string_view raw : lines_of(text)) {
    const std::string_view line = trimmed(raw);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trimmed(line.substr(0, colon));
    const std::string value(trimmed(line.substr(colon + 1)));
    if (key == "hca_id") {
      name = value;
      transport.clear();
      device = nullptr;
    } else if (key == "transport") {
      transport = value.substr(0, value.find(" ("));
    } else if (key == "port" && !name.empty()) {
      const auto port = parse_whole(value);
      if (!port || *port < 1 || *port > 255) continue;
      device = &port_of(host, name, static_cast<int>(*port));
      device->transport = transport;
    } else if (device == nullptr) {
      continue;
    } else if (key == "state") {
      device->state = state_of(value);
    } else if (key == "active_mtu") {
      device->active_mtu = parse_whole(value.substr(0, value.find(' '))).value_or(0);
    } else if (key == "link_layer") {
      device->link_layer = value;
    } else if (key.rfind("GID[", 0) == 0) {
      const std::string_view index = trimmed(key.substr(4, key.find(']') - 4));
      const size_t comma = value.find(',');  // newer versions add ", RoCE v2"
      put_gid(*device, index, value.substr(0, comma));
    }
  }
  trim_gids(host);
  return {};
}

}  // namespace plumbline
