#include "core/host/requirement.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "core/fd.h"
#include "core/host/host_internal.h"

namespace plumbline {
namespace {

// "/usr/bin/gnuplot" when a folder of PATH has an executable file of that name, else empty.
std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string folder(rest.substr(0, colon));
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  return {};
}

std::string missing_root() { return geteuid() == 0 ? "" : "needs root; run it with sudo"; }

std::string missing_ipv6() {
  const Fd socket(::socket(AF_INET6, SOCK_STREAM, 0));
  return socket.valid() ? "" : "this system has no IPv6";
}

std::string missing_gnuplot() {
  if (!find_program("gnuplot").empty()) return "";
  return "gnuplot is not in PATH; install it (Debian: gnuplot-nox, Homebrew: gnuplot)";
}

std::string missing_netns() {
  if (auto reason = missing_network_namespaces(); !reason.empty()) return reason;
  if (auto reason = missing_root(); !reason.empty()) return "network namespaces: " + reason;
  if (find_program("ip").empty()) return "ip is not in PATH; install it (Debian: iproute2)";
  return "";
}

constexpr FeatureRow kFeatures[] = {
    {"linux", "the Linux kernel", missing_linux},
    {"macos", "macOS", missing_macos},
    {"root", "the rights of the superuser", missing_root},
    {"ipv6", "IPv6 sockets", missing_ipv6},
    {"gnuplot", "the program gnuplot", missing_gnuplot},
    {"netns", "network namespaces, the right to make them, and the program ip", missing_netns},
    {"cap_net_raw", "the right to open raw sockets", missing_raw_sockets},
};

}  // namespace

std::span<const FeatureRow> feature_table() { return kFeatures; }

std::optional<std::string> unmet(std::span<const char* const> requirements) {
  for (const std::string_view word : requirements) {
    const FeatureRow* found = nullptr;
    for (const FeatureRow& row : kFeatures) {
      if (word == row.name) found = &row;
    }
    if (found == nullptr) return "needs '" + std::string(word) + "', which nobody knows";
    if (std::string reason = found->missing(); !reason.empty()) return reason;
  }
  return std::nullopt;
}

}  // namespace plumbline
