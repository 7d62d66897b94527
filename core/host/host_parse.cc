#include "core/host/host_parse.h"

#include <algorithm>

#include "core/number.h"

namespace plumbline {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr size_t kLongestValue = 256;  // characters of an environment variable in a record

// Calls take(line) for each line until it returns true.
template <typename Take>
void each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (take(text.substr(0, end))) return;
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// "key : value" -> value when the key fits.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key,
                                         char separator) {
  const size_t at = line.find(separator);
  if (at == std::string_view::npos || trimmed(line.substr(0, at)) != key) return std::nullopt;
  return trimmed(line.substr(at + 1));
}

// The value of the first line with this key.
std::optional<std::string_view> value_in(std::string_view text, std::string_view key,
                                         char separator) {
  std::optional<std::string_view> value;
  each_line(text, [&](std::string_view line) {
    value = value_of(line, key, separator);
    return value.has_value();
  });
  return value;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    const size_t begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return out;
    text.remove_prefix(begin);
    const size_t end = std::min(text.find_first_of(kSpace), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::optional<double> ratio(std::optional<uint64_t> quota, std::optional<uint64_t> period) {
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::optional<uint64_t> parse_count(std::string_view text) {
  return parse_whole<uint64_t>(trimmed(text));
}

std::string parse_cpu_model(std::string_view cpuinfo) {
  std::string model;
  each_line(cpuinfo, [&](std::string_view line) {
    // x86 says "model name"; Arm boards say "Model" (of the board) at the end, others "cpu model".
    for (const char* key : {"model name", "cpu model", "Model"}) {
      if (const auto value = value_of(line, key, ':')) model = *value;
      if (!model.empty()) return true;
    }
    return false;
  });
  return model;
}

bool has_hypervisor_flag(std::string_view cpuinfo) {
  const auto list = words(value_in(cpuinfo, "flags", ':').value_or(""));
  return std::find(list.begin(), list.end(), "hypervisor") != list.end();
}

uint64_t parse_meminfo(std::string_view meminfo, std::string_view key) {
  const auto parts = words(value_in(meminfo, key, ':').value_or(""));
  if (parts.size() != 2 || parts[1] != "kB") return 0;
  const uint64_t kib = parse_count(parts[0]).value_or(0);
  return kib <= UINT64_MAX / 1024 ? kib * 1024 : 0;
}

std::optional<double> parse_load1(std::string_view loadavg) {
  const auto parts = words(loadavg);
  if (parts.empty()) return std::nullopt;
  const std::optional<double> load = parse_decimal(parts[0]);
  return load && *load >= 0 ? load : std::nullopt;
}

std::string parse_os_release(std::string_view os_release) {
  const std::string_view value = value_in(os_release, "PRETTY_NAME", '=').value_or("");
  const bool quoted = value.size() >= 2 && value.front() == value.back() &&
                      (value.front() == '"' || value.front() == '\'');
  return std::string(quoted ? value.substr(1, value.size() - 2) : value);
}

std::pair<int, int> parse_port_range(std::string_view text) {
  const auto parts = words(text);
  if (parts.size() != 2) return {0, 0};
  const auto first = parse_count(parts[0]), last = parse_count(parts[1]);
  if (!first || !last || *first > *last || *last > 65535) return {0, 0};
  return {static_cast<int>(*first), static_cast<int>(*last)};
}

std::optional<double> parse_cpu_max(std::string_view text) {
  const auto parts = words(text);
  if (parts.size() != 2) return std::nullopt;
  return ratio(parse_count(parts[0]), parse_count(parts[1]));  // "max" is no number: no limit
}

std::optional<double> parse_cfs_quota(std::string_view quota_us, std::string_view period_us) {
  return ratio(parse_count(quota_us), parse_count(period_us));  // nor is "-1"
}

std::optional<double> parse_cgroup_memory_left(std::string_view limit, std::string_view used,
                                               std::string_view stat,
                                               std::string_view inactive_key) {
  const auto most = parse_count(limit), taken = parse_count(used);  // "max" is no number: no limit
  if (!most || !taken) return std::nullopt;
  uint64_t inactive = 0;
  each_line(stat, [&](std::string_view line) {
    const auto parts = words(line);
    if (parts.size() != 2 || parts[0] != inactive_key) return false;
    inactive = parse_count(parts[1]).value_or(0);
    return true;
  });
  const uint64_t held = *taken - std::min(*taken, inactive);
  return static_cast<double>(*most - std::min(*most, held));
}

std::optional<std::string> parse_cgroup_path(std::string_view text, std::string_view controller) {
  std::optional<std::string> path;
  each_line(text, [&](std::string_view line) {
    const size_t first = line.find(':');
    if (first == std::string_view::npos) return false;
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) return false;
    std::string_view names = line.substr(first + 1, second - first - 1);
    const bool version2 = line.substr(0, first) == "0" && names.empty();
    bool fits = controller.empty() && version2;
    while (!fits && !controller.empty() && !names.empty()) {
      const size_t comma = std::min(names.find(','), names.size());
      fits = names.substr(0, comma) == controller;
      names.remove_prefix(std::min(comma + 1, names.size()));
    }
    if (fits) path = std::string(line.substr(second + 1));
    return fits;
  });
  return path;
}

std::optional<double> tightest_along(const std::string& mount, std::string path,
                                     std::optional<double> (*read)(const std::string& folder)) {
  std::optional<double> tightest;
  while (true) {
    const auto limit = read(mount + path);
    if (limit && (!tightest || *limit < *tightest)) tightest = limit;
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return tightest;
    path.resize(slash);
  }
}

std::string hypervisor_from_dmi(std::string_view vendor, std::string_view product) {
  constexpr struct {
    const char *vendor, *product, *name;  // both must be the beginning of the text
  } kKnown[] = {
      {"QEMU", "", "qemu"},
      {"", "KVM", "kvm"},
      {"Amazon EC2", "", "kvm (Amazon EC2)"},
      {"Google", "Google Compute Engine", "kvm (Google Compute Engine)"},
      {"VMware", "", "vmware"},
      {"innotek GmbH", "", "virtualbox"},
      {"Microsoft Corporation", "Virtual Machine", "hyper-v"},
      {"Xen", "", "xen"},
      {"Parallels", "", "parallels"},
      {"Apple", "Apple Virtualization", "apple virtualization"},
      {"", "OpenStack", "openstack"},
      {"", "Standard PC (", "qemu"},
  };
  const auto begins = [](std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
  };
  for (const auto& known : kKnown) {
    if (begins(trimmed(vendor), known.vendor) && begins(trimmed(product), known.product)) {
      return known.name;
    }
  }
  return {};
}

std::string container_from_cgroup(std::string_view text) {
  constexpr std::pair<const char*, const char*> kKnown[] = {
      {"kubepods", "kubernetes"},   {"docker", "docker"}, {"libpod", "podman"}, {"/lxc", "lxc"},
      {"containerd", "containerd"},
  };
  for (const auto& [mark, name] : kKnown) {
    if (text.find(mark) != std::string_view::npos) return name;
  }
  return {};
}

std::map<std::string, std::string> allowed_environment(std::span<const char* const> entries,
                                                       const std::vector<std::string>& allow_list) {
  std::map<std::string, std::string> out;
  for (const std::string_view entry : entries) {
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(entry.substr(0, equals));
    if (std::find(allow_list.begin(), allow_list.end(), name) == allow_list.end()) continue;
    std::string value(entry.substr(equals + 1, kLongestValue));
    for (char& c : value) {
      // Only plain ASCII: a cut or odd byte must not make a record that is no valid UTF-8.
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
    }
    out[name] = value;
  }
  return out;
}

}  // namespace plumbline
