#include <algorithm>
#include <array>

#include "core/host/host_parse.h"
#include "core/number.h"
#include "probes/sources/linux_sources.h"
#include "probes/sources/text_lines.h"

namespace plumbline {
namespace {

constexpr std::string_view kProcSys = "/proc/sys/";

// "0-3,8" -> 5.
int count_of_list(std::string_view list) {
  int64_t count = 0;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view part = list.substr(0, comma);
    const size_t dash = part.find('-');
    const auto first = parse_whole(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_whole(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > 1'000'000) return 0;
    count += *last - *first + 1;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return static_cast<int>(std::min<int64_t>(count, 1'000'000));
}

std::string one_space(std::string_view value) {
  std::string out;
  for (const std::string_view word : words_of(value)) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
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

}  // namespace

Status parse_proc_sys(const std::string& text, HostEvidence& host) {
  for (const auto& [path, line] : file_lines(text)) {
    if (path.rfind(kProcSys, 0) != 0) continue;
    // The dots of a VLAN's name stay: "net.ipv4.conf.eth0.5.rp_filter".
    std::string name(path.substr(kProcSys.size()));
    std::replace(name.begin(), name.end(), '/', '.');
    host.sysctls.emplace(std::move(name), one_space(line));  // the first line counts
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

}  // namespace plumbline
