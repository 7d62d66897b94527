#include <algorithm>

#include "core/host/host_parse.h"
#include "core/number.h"
#include "core/text.h"
#include "probes/sources/parsers.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

constexpr size_t kMostValues = 4096, kMostDevices = 64;

std::string value_of(const HostEvidence& host, const char* name) {
  const auto it = host.sysctls.find(name);
  return it == host.sysctls.end() ? std::string() : it->second;
}

// "{ 1.52 1.61 1.70 }" -> 1.52; a decimal comma where the locale could not be kept out.
std::optional<double> load_of(std::string text) {
  std::replace(text.begin(), text.end(), ',', '.');
  const size_t begin = text.find_first_of("0123456789");
  return begin == std::string::npos ? std::nullopt : parse_load1(text.substr(begin));
}

// What is known by another name too; what an earlier row told stays.
void read_names(HostEvidence& host) {
  const auto fill = [&](std::string& field, const char* name) {
    if (field.empty()) field = value_of(host, name);
  };
  fill(host.hostname, "kern.hostname");
  fill(host.boot_id, "kern.bootsessionuuid");
  fill(host.model, "hw.model");
  if (!host.load1) host.load1 = load_of(value_of(host, "vm.loadavg"));
  const auto cores = parse_whole(value_of(host, "hw.ncpu"));
  if (host.cores_usable == 0 && cores && *cores > 0 && *cores <= 100'000) {
    host.cores_usable = static_cast<int>(*cores);
  }
}

// "open files                      (-n) 256" (bash), "nofiles(descriptors)        256" (dash),
// "-n: file descriptors                256" (zsh).
std::optional<int64_t> limit_of(std::string_view line) {
  const auto words = words_of(line);
  if (words.empty()) return std::nullopt;
  if (words.back() == "unlimited") return -1;
  const auto value = parse_whole(words.back());
  return value && *value >= 0 ? value : std::nullopt;
}

bool starts(std::string_view line, std::string_view key) { return line.rfind(key, 0) == 0; }

}  // namespace

Status parse_sysctl(const std::string& text, HostEvidence& host) {
  bool found = false;
  for (const std::string_view line : lines_of(text)) {
    const size_t colon = line.find(": ");
    if (colon == std::string_view::npos || colon == 0 || colon > 128) continue;
    const std::string_view name = line.substr(0, colon);
    const bool plain = name.find_first_of(" \t") == std::string_view::npos &&
                       name.find('.') != std::string_view::npos;
    if (!plain || host.sysctls.size() >= kMostValues) continue;
    host.sysctls.emplace(std::string(name), std::string(trimmed(line.substr(colon + 2))));
    found = true;
  }
  if (!found) return fail(ErrorCode::kProtocol, "no value in what sysctl printed");
  read_names(host);
  return {};
}

// ProductName: macOS / ProductVersion: 26.2 / BuildVersion: 25C56
Status parse_sw_vers(const std::string& text, HostEvidence& host) {
  std::string name = "macOS", version, build;
  for (const std::string_view line : lines_of(text)) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, colon);
    const std::string value(trimmed(line.substr(colon + 1)));
    if (value.empty()) continue;
    if (key == "ProductName") name = value;
    if (key == "ProductVersion") version = value;
    if (key == "BuildVersion") build = value;
  }
  if (version.empty()) return fail(ErrorCode::kProtocol, "no ProductVersion in sw_vers' output");
  host.os = name + " " + version + (build.empty() ? "" : " (" + build + ")");
  return {};
}

Status parse_uname(const std::string& text, HostEvidence& host) {
  const std::string line = first_line(text);
  if (words_of(line).size() < 2) return fail(ErrorCode::kProtocol, "no kernel in uname's output");
  host.kernel = trimmed(line);
  return {};
}

Status parse_id(const std::string& text, HostEvidence& host) {
  const auto uid = parse_whole(trimmed(text));
  if (!uid || *uid < 0) return fail(ErrorCode::kProtocol, "no number in id's output");
  host.uid = *uid;
  return {};
}

Status parse_ulimit(const std::string& text, HostEvidence& host) {
  bool found = false;
  for (const std::string_view line : lines_of(text)) {
    const bool files = starts(line, "open files") || starts(line, "nofiles") || starts(line, "-n:");
    const bool locked =
        starts(line, "max locked memory") || starts(line, "locked memory") || starts(line, "-l:");
    const auto limit = files || locked ? limit_of(line) : std::nullopt;
    if (!limit) continue;
    found = true;
    if (files && *limit >= 0) host.descriptors = limit;  // no limit is none to tell
    // In units of 1024 bytes.
    if (locked && *limit < INT64_MAX / 1024) host.locked_memory = *limit < 0 ? -1 : *limit * 1024;
  }
  if (!found) return fail(ErrorCode::kProtocol, "no known line in ulimit's output");
  return {};
}

Status parse_local_host_name(const std::string& text, HostEvidence& host) {
  const std::string name(trimmed(first_line(text)));
  if (host.hostname.empty() && !name.empty()) host.hostname = name + ".local";
  return {};
}

// "enabled" or "disabled"; the tool only exists where there may be RDMA.
Status parse_rdma_ctl(const std::string& text, HostEvidence& host) {
  const std::string words = lower_case(text);
  const bool off = words.find("disabled") != std::string::npos;
  if (!off && words.find("enabled") == std::string::npos) {
    return fail(ErrorCode::kProtocol, "rdma_ctl said neither enabled nor disabled");
  }
  host.sysctls["rdma_ctl.status"] = off ? "disabled" : "enabled";
  return {};
}

//     device                 node GUID
//     ------              ----------------
//     rdma_en3            36...
// A device belongs to the interface in its name, and its port is up when that one has a signal; a
// device of which neither is known is left to ibv_devinfo.
Status parse_ibv_devices(const std::string& text, HostEvidence& host) {
  constexpr std::string_view kPrefix = "rdma_";
  if (!host.rdma) host.rdma.emplace();  // somebody looked
  // The tool ran, so that the library could be loaded.
  if (host.rdma->library.empty()) host.rdma->library = "librdma.dylib";
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.size() != 2 || !starts(words[0], kPrefix) || words[0].size() > 64) continue;
    const std::string_view netdev = words[0].substr(kPrefix.size());
    bool known = false;
    for (RdmaDevice& device : host.rdma->devices) {
      if (device.name != words[0]) continue;
      known = true;
      if (device.netdev.empty()) device.netdev = netdev;
    }
    const auto interface =
        std::find_if(host.interfaces.begin(), host.interfaces.end(),
                     [&](const InterfaceEvidence& one) { return one.name == netdev; });
    if (known || interface == host.interfaces.end() || !interface->carrier) continue;
    if (host.rdma->devices.size() >= kMostDevices) break;
    RdmaDevice device;
    device.name = words[0];
    device.netdev = netdev;
    device.transport = "Thunderbolt";
    device.state = *interface->carrier ? "ACTIVE" : "DOWN";
    host.rdma->devices.push_back(std::move(device));
  }
  return {};
}

}  // namespace plumbline
