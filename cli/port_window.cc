#include "cli/port_window.h"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/doctor_run.h"
#include "core/host.h"
#include "probes/ports.h"

namespace plumbline {
namespace {

constexpr int kDefaultBase = 29600;

std::vector<NicAddress> local_addresses(const std::vector<ScenarioHost>& hosts) {
  std::vector<NicAddress> addresses;
  for (const ScenarioHost& host : hosts) {
    if (!host.netns.empty() || !host.ssh.empty()) continue;
    for (const std::string& text : host.data) {
      const NicAddress address = data_address(text);
      if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) {
        addresses.push_back(address);
      }
    }
  }
  return addresses;
}

Error busy(const LocalPort& state, int base, int ranks) {
  Error error;
  error.code = ErrorCode::kBusy;
  error.what = fmt::format("port {} of the window {}-{} is in use{}", state.port, base,
                           base + ranks - 1, state.owner.empty() ? "" : " by " + state.owner);
  error.hint = "end that process, or choose other ports with --port-base N or --port-base auto";
  error.cause = "tcp.port_in_use";
  return error;
}

}  // namespace

Expected<int> choose_port_base(const OptionSet& options, const std::vector<ScenarioHost>& hosts,
                               int ranks) {
  const std::vector<NicAddress> addresses = local_addresses(hosts);
  const std::string& text = options.text("port_base");
  const bool automatic = text == "auto";
  if (automatic && !addresses.empty()) {
    return find_free_window(addresses, ranks, static_cast<int>(options.integer("master_port")),
                            read_host_facts().ephemeral_ports);
  }
  const int base = automatic ? kDefaultBase : std::atoi(text.c_str());
  if (base + ranks - 1 > 65535) {
    return fail(ErrorCode::kConfig,
                fmt::format("{} ranks from port {} on leave the port range", ranks, base),
                "choose a lower --port-base");
  }
  std::vector<int> window;
  for (int port = base; port < base + ranks; ++port) window.push_back(port);
  if (addresses.empty()) return base;
  for (const LocalPort& state : try_ports(addresses, window)) {
    if (!state.free && state.error.code == ErrorCode::kBusy) return fail(busy(state, base, ranks));
  }
  return base;
}

}  // namespace plumbline
