#include "runs/hosts/port_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/host/host.h"
#include "probes/ports.h"
#include "runs/doctor_run.h"

namespace plumbline {
namespace {

constexpr int kDefaultBase = 29600;
constexpr const char* kMovedOrigin = "chosen, the default window is taken";

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

std::string window_text(int base, int ranks) {
  return ranks == 1 ? std::to_string(base) : fmt::format("{}-{}", base, base + ranks - 1);
}

Error claimed(int base, int ranks) {
  return Error{ErrorCode::kBusy,
               fmt::format("the window {} belongs to another run of plumbline on this machine",
                           window_text(base, ranks)),
               0, "wait for it, or choose other ports with --port-base N or --port-base auto",
               "tcp.port_in_use"};
}

Expected<int> free_base(const OptionSet& options, const std::vector<NicAddress>& addresses,
                        int ranks, PortClaims* claims) {
  const auto unclaimed = [&](int base) { return claims == nullptr || claims->take(base, ranks); };
  return find_free_window(addresses, ranks, static_cast<int>(options.integer("master_port")),
                          read_host_facts().ephemeral_ports, unclaimed);
}

}  // namespace

bool may_choose_window(const OptionSet& options, const std::vector<ScenarioHost>& hosts) {
  if (options.text("port_base") == "auto") return true;
  const std::string& origin = options.origin("port_base");
  const bool asked_for = origin != "default" && origin != kMovedOrigin;
  return !asked_for && std::all_of(hosts.begin(), hosts.end(), [](const ScenarioHost& host) {
    return host.ssh.empty() && host.netns.empty();
  });
}

Expected<int> choose_port_base(const OptionSet& options, const std::vector<ScenarioHost>& hosts,
                               int ranks, PortClaims* claims) {
  const std::vector<NicAddress> addresses = local_addresses(hosts);
  const bool automatic = options.text("port_base") == "auto";
  if (automatic && !addresses.empty()) {
    return free_base(options, addresses, ranks, claims);
  }
  const int base = automatic ? kDefaultBase : static_cast<int>(options.integer("port_base"));
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
  if (claims != nullptr && !claims->take(base, ranks) && may_choose_window(options, hosts)) {
    return fail(claimed(base, ranks));
  }
  return base;
}

Expected<MovedWindow> move_window(const OptionSet& options, const std::vector<ScenarioHost>& hosts,
                                  int ranks, const Error& why, PortClaims* claims) {
  const Expected<int> base = free_base(options, local_addresses(hosts), ranks, claims);
  if (!base) return fail(base.error());
  Expected<OptionSet> moved = options.with("port_base", std::to_string(*base), kMovedOrigin);
  if (!moved) return fail(moved.error());
  return MovedWindow{std::move(*moved),
                     fmt::format("{}: this run takes ports {} (--port-base sets them)", why.what,
                                 window_text(*base, ranks))};
}

Expected<std::optional<MovedWindow>> settle_window(const OptionSet& options,
                                                   const std::vector<ScenarioHost>& hosts,
                                                   int ranks, PortClaims& claims) {
  const Expected<int> base = choose_port_base(options, hosts, ranks, &claims);
  if (base) return std::optional<MovedWindow>();
  const bool taken = base.error().cause == "tcp.port_in_use";
  if (!taken || !may_choose_window(options, hosts)) return fail(base.error());
  Expected<MovedWindow> moved = move_window(options, hosts, ranks, base.error(), &claims);
  if (!moved) return fail(moved.error());
  return std::optional<MovedWindow>(std::move(*moved));
}

}  // namespace plumbline
