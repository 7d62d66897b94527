#include <fmt/format.h>
#include <stdlib.h>
#include <sys/sysctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/host/host_internal.h"
#include "core/host/host_parse.h"
#include "core/host/memory_left.h"

namespace plumbline {
namespace {

std::optional<std::string> sysctl_text(const char* name) {
  size_t size = 0;
  if (sysctlbyname(name, nullptr, &size, nullptr, 0) != 0 || size == 0) return std::nullopt;
  std::string text(size, '\0');
  if (sysctlbyname(name, text.data(), &size, nullptr, 0) != 0) return std::nullopt;
  text.resize(size);
  return std::string(text.c_str());  // up to the terminating zero
}

std::optional<uint64_t> sysctl_number(const char* name) {
  uint64_t value = 0;  // little-endian: a 32-bit answer lands in the low half
  size_t size = sizeof value;
  if (sysctlbyname(name, &value, &size, nullptr, 0) != 0) return std::nullopt;
  return value;
}

void read_names(HostFacts& facts) {
  facts.os = "macOS " + sysctl_text("kern.osproductversion").value_or("(version unknown)");
  // As sw_vers(1) has it: machines of one release may be of different builds.
  if (const auto build = sysctl_text("kern.osversion")) facts.os += " (" + *build + ")";
  utsname names{};
  if (uname(&names) != 0) return;
  facts.kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  facts.arch = names.machine;
}

}  // namespace

void read_platform_facts(HostFacts& facts) {
  read_names(facts);
  facts.cpu_model = sysctl_text("machdep.cpu.brand_string").value_or("");
  facts.memory_bytes = sysctl_number("hw.memsize").value_or(0);
  facts.memory_available_bytes = memory_left();
  double load = 0;
  if (getloadavg(&load, 1) == 1) facts.load1 = load;
  if (sysctl_number("kern.hv_vmm_present").value_or(0) == 1) facts.virtualisation = "hypervisor";
  // One limit for both directions; a socket's two buffers share it.
  facts.rmem_max = sysctl_number("kern.ipc.maxsockbuf");
  facts.wmem_max = facts.rmem_max;
  facts.ephemeral_ports = parse_port_range(
      fmt::format("{} {}", sysctl_number("net.inet.ip.portrange.first").value_or(0),
                  sysctl_number("net.inet.ip.portrange.last").value_or(0)));
  facts.boot_id = sysctl_text("kern.bootsessionuuid").value_or("");
}

void read_platform_libraries(std::map<std::string, std::string>& libraries) {
  if (const auto version = sysctl_text("kern.osversion")) libraries["libSystem"] = *version;
}

std::string missing_linux() { return "needs Linux; this is macOS"; }

std::string missing_macos() { return ""; }

std::string missing_network_namespaces() { return "network namespaces exist on Linux only"; }

std::string missing_raw_sockets() {
  return geteuid() == 0 ? "" : "needs the right to open raw sockets; run it with sudo";
}

}  // namespace plumbline
