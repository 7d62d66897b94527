#include <algorithm>
#include <array>
#include <map>

#include "core/host/host_parse.h"
#include "core/number.h"
#include "probes/sources/parsers.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

constexpr std::string_view kProcSys = "/proc/sys/";

// "0-3,8" -> 5.
int count_of_list(std::string_view list) {
  int64_t count = 0;
  for (const std::string_view part : parts_of(list, ',')) {
    const size_t dash = part.find('-');
    const auto first = parse_whole(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_whole(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > 1'000'000) return 0;
    count += *last - *first + 1;
  }
  return static_cast<int>(std::min<int64_t>(count, 1'000'000));
}

// The names of the kernel and of the machine stand among the sysctls.
void read_names(HostEvidence& host) {
  const auto value = [&](const char* name) {
    const auto it = host.sysctls.find(name);
    return it == host.sysctls.end() ? std::string() : it->second;
  };
  host.hostname = value("kernel.hostname");
  host.boot_id = value("kernel.random.boot_id");
  if (!value("kernel.ostype").empty()) {
    host.kernel = value("kernel.ostype") + " " + value("kernel.osrelease");
    if (!value("kernel.arch").empty()) host.kernel += " " + value("kernel.arch");
  }
  host.conntrack_count = parse_whole(value("net.netfilter.nf_conntrack_count"));
  host.conntrack_max = parse_whole(value("net.netfilter.nf_conntrack_max"));
}

// ---- RDMA devices ----

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
  const auto at = parse_whole<size_t>(index, 0, kMostGids - 1);
  if (!at) return;
  if (device.gids.size() <= *at) device.gids.resize(*at + 1);
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

void read_port_file(RdmaDevice& device, const std::vector<std::string_view>& parts,
                    std::string_view line) {
  if (parts[3] == "state") device.state = state_of(line);
  if (parts[3] == "link_layer") device.link_layer = trimmed(line);
  if (parts[3] == "gids" && parts.size() == 5) put_gid(device, parts[4], trimmed(line));
  const bool netdev = parts[3] == "gid_attrs" && parts.size() == 6 && parts[4] == "ndevs";
  if (netdev && device.netdev.empty()) device.netdev = trimmed(line);
}

}  // namespace

Status parse_proc_sys(const std::string& text, HostEvidence& host) {
  for (const auto& [path, line] : file_lines(text)) {
    if (path.rfind(kProcSys, 0) != 0) continue;
    // The dots of a VLAN's name stay: "net.ipv4.conf.eth0.5.rp_filter".
    std::string name(path.substr(kProcSys.size()));
    std::replace(name.begin(), name.end(), '/', '.');
    host.sysctls.emplace(std::move(name), joined(words_of(line)));  // the first line counts
  }
  read_names(host);
  return {};
}

Status parse_os_release_file(const std::string& text, HostEvidence& host) {
  const std::string os = parse_os_release(text);
  if (os.empty()) return fail(ErrorCode::kProtocol, "no PRETTY_NAME in /etc/os-release");
  host.os = os;
  return {};
}

Status parse_machine_files(const std::string& text, HostEvidence& host) {
  std::string vendor, product;
  for (const auto& [path, line] : file_lines(text)) {
    const std::string value(trimmed(line));
    if (path.ends_with("/sys_vendor")) vendor = value;
    if (path.ends_with("/product_name")) product = value;
  }
  host.model = vendor.empty() || product.empty() ? vendor + product : vendor + " " + product;
  return {};
}

Status parse_proc_limits(const std::string& text, HostEvidence& host) {
  const auto soft_limit = [](std::string_view line, std::string_view key) {
    const auto words = words_of(line.substr(key.size()));
    if (words.empty()) return std::optional<int64_t>();
    return words[0] == "unlimited" ? std::optional<int64_t>(-1) : parse_whole(words[0]);
  };
  constexpr std::string_view kFiles = "Max open files", kLocked = "Max locked memory";
  bool found = false;
  for (const std::string_view line : lines_of(text)) {
    if (line.rfind(kFiles, 0) == 0) {
      found = true;
      const auto limit = soft_limit(line, kFiles);
      if (limit && *limit >= 0) host.descriptors = limit;  // no limit is none to tell
    }
    if (line.rfind(kLocked, 0) == 0) {
      found = true;
      host.locked_memory = soft_limit(line, kLocked);
    }
  }
  if (!found) return fail(ErrorCode::kProtocol, "no known line in /proc/self/limits");
  return {};
}

Status parse_proc_status(const std::string& text, HostEvidence& host) {
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.size() < 2) continue;
    if (words[0] == "Uid:" && words.size() >= 3) {
      host.uid = parse_whole(words[2]).value_or(-1);  // effective
    } else if (words[0] == "Cpus_allowed_list:") {
      host.cores_usable = count_of_list(words[1]);
    }
  }
  return {};
}

Status parse_loadavg(const std::string& text, HostEvidence& host) {
  host.load1 = parse_load1(text);
  if (!host.load1) return fail(ErrorCode::kProtocol, "no number in /proc/loadavg");
  return {};
}

Status parse_sys_class_infiniband(const std::string& text, HostEvidence& host) {
  constexpr std::string_view kFolder = "/sys/class/infiniband/";
  std::map<std::string, std::string, std::less<>> transports;
  for (const auto& [path, line] : file_lines(text)) {
    if (path.rfind(kFolder, 0) != 0) continue;
    const auto parts = parts_of(path.substr(kFolder.size()), '/');
    // mlx5_0/node_type; mlx5_0/ports/1/state
    if (parts.size() == 2 && parts[1] == "node_type") {
      transports[std::string(parts[0])] =
          line.find("RNIC") != std::string_view::npos ? "iWARP" : "InfiniBand";
    }
    if (parts.size() < 4 || parts[1] != "ports") continue;
    const auto port = parse_whole<int>(parts[2], 1, 255);
    if (port) read_port_file(port_of(host, std::string(parts[0]), *port), parts, line);
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
      const auto port = parse_whole<int>(value, 1, 255);
      if (!port) continue;
      device = &port_of(host, name, *port);
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
