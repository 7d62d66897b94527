#include "transport/tcp/tcp_listener.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/host/nics.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr int kPortAttempts = 20;  // to find one port that is free on all addresses
constexpr int kPortLookMs = 20;

bool is_set(const std::string& text) { return !text.empty() && text != "auto"; }

// Keeps the addresses of one interface; asks the system where the host file names none.
Expected<std::vector<RankAddress>> on_interface(std::span<const RankAddress> addresses,
                                                const std::string& interface) {
  std::vector<RankAddress> kept;
  const Expected<std::vector<Nic>> nics = list_nics();
  const auto belongs = [&](const RankAddress& address) {
    if (!address.interface.empty()) return address.interface == interface;
    if (!nics) return false;
    return std::any_of(nics->begin(), nics->end(), [&](const Nic& nic) {
      return nic.name == interface &&
             std::any_of(nic.addresses.begin(), nic.addresses.end(),
                         [&](const NicAddress& own) { return own.ip == address.ip; });
    });
  };
  std::copy_if(addresses.begin(), addresses.end(), std::back_inserter(kept), belongs);
  if (kept.empty()) {
    return fail(ErrorCode::kConfig,
                fmt::format("none of this rank's data addresses is on interface \"{}\"", interface),
                "correct ifname, or leave it empty to use all data addresses");
  }
  return kept;
}

bool wildcard(const std::string& ip) { return ip == "0.0.0.0" || ip == "::"; }

// What to publish, after the options have had their say.
Expected<std::vector<RankAddress>> published(std::span<const RankAddress> addresses,
                                             const OptionSet& options) {
  std::vector<RankAddress> list;
  for (const RankAddress& address : addresses) {
    if (std::find(list.begin(), list.end(), address) == list.end()) list.push_back(address);
  }
  const std::string& interface = options.text("ifname");
  if (is_set(interface)) {
    Expected<std::vector<RankAddress>> kept = on_interface(list, interface);
    if (!kept) return kept;
    list = std::move(*kept);
  }
  const std::string& only = options.text("listen_addr");
  if (!is_set(only) || wildcard(only)) return list;
  std::erase_if(list, [&](const RankAddress& address) { return address.ip != only; });
  if (list.empty()) list.push_back({only, -1, is_set(interface) ? interface : std::string()});
  return list;
}

// One socket per address; with port 0 the first decides for all.
Expected<std::vector<Fd>> bind_all(std::span<const RankAddress> addresses, uint16_t port,
                                   const SocketOptions& options) {
  std::vector<Fd> sockets;
  std::vector<SocketAddress> bound;
  for (const RankAddress& entry : addresses) {
    Expected<SocketAddress> address = make_socket_address(entry.ip, port, entry.interface);
    if (!address) return fail(address.error());
    const auto same = [&](const SocketAddress& other) {
      return other.same_ip(*address) && !address->link_local();
    };
    if (std::any_of(bound.begin(), bound.end(), same)) continue;
    Expected<Fd> fd = listen_on(*address, options);
    if (!fd) return fail(fd.error());
    port = local_address(fd->get()).port();
    bound.push_back(*address);
    sockets.push_back(std::move(*fd));
  }
  return sockets;
}

}  // namespace

Expected<std::unique_ptr<TcpListener>> TcpListener::open(std::span<const RankAddress> addresses,
                                                         uint16_t port, const OptionSet& options,
                                                         Deadline patience) {
  Expected<std::vector<RankAddress>> publish = published(addresses, options);
  if (!publish) return fail(publish.error());
  if (publish->empty()) {
    return fail(ErrorCode::kConfig, "listen: this rank has no data address",
                "give the host a data address in the host file");
  }
  std::unique_ptr<TcpListener> listener(new TcpListener);
  listener->endpoint_.addresses = *publish;
  const std::string& only = options.text("listen_addr");
  const std::vector<RankAddress> listen =
      wildcard(only) ? std::vector<RankAddress>{{only, -1, {}}} : *publish;
  for (int attempt = 1;; ++attempt) {
    Expected<std::vector<Fd>> sockets = bind_all(listen, port, socket_options(options));
    if (sockets) {
      listener->sockets_ = std::move(*sockets);
      break;
    }
    if (sockets.error().code != ErrorCode::kBusy) return fail(sockets.error());
    if (port == 0 ? attempt == kPortAttempts : patience.passed()) return fail(sockets.error());
    if (port != 0) std::this_thread::sleep_for(std::chrono::milliseconds(kPortLookMs));
  }
  listener->endpoint_.port = local_address(listener->sockets_.front().get()).port();
  return listener;
}

std::string TcpListener::describe() const {
  std::string text;
  for (const Fd& fd : sockets_) {
    if (!text.empty()) text += " and ";
    text += to_text(local_address(fd.get()));
  }
  return text;
}

}  // namespace plumbline
