#include "transport/tcp/tcp.h"

#include <fmt/format.h>

#include "transport/address.h"
#include "transport/channel/fault.h"
#include "transport/control/control_tcp.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

// Those of all ranks, in rank order.
Expected<std::vector<TcpEndpoint>> read_endpoints(const GroupSpec& spec) {
  std::vector<TcpEndpoint> all;
  for (int rank = 0; rank < spec.size; ++rank) {
    Expected<TcpEndpoint> endpoint = tcp_endpoint(rank, spec.endpoints[static_cast<size_t>(rank)]);
    if (!endpoint) return fail(endpoint.error());
    if (endpoint->port == 0) {
      return fail(ErrorCode::kConfig,
                  fmt::format("rank {} on {} says that it listens on port 0", rank, endpoint->host),
                  "ranks say the port that they have claimed");
    }
    all.push_back(std::move(*endpoint));
  }
  return all;
}

// Candidates towards every peer; the entries of this rank and of those apart stay empty.
Expected<std::vector<std::vector<AddressPair>>> all_pairs(const std::vector<TcpEndpoint>& endpoints,
                                                          const TcpEndpoint& mine,
                                                          const std::vector<bool>& apart) {
  std::vector<std::vector<AddressPair>> all(endpoints.size());
  for (const TcpEndpoint& peer : endpoints) {
    if (peer.rank == mine.rank || is_apart(apart, peer.rank)) continue;
    Expected<std::vector<AddressPair>> pairs = address_pairs(mine, peer);
    if (!pairs) return fail(pairs.error());
    all[static_cast<size_t>(peer.rank)] = std::move(*pairs);
  }
  return all;
}

Expected<ControlConfig> control_config(const GroupSpec& spec,
                                       std::unique_ptr<TcpListener> listener) {
  const OptionSet& options = *spec.options;
  ControlConfig config;
  config.identity = {spec.rank, spec.size, spec.id, spec.token, agreed_text(spec)};
  Expected<std::vector<TcpEndpoint>> endpoints = read_endpoints(spec);
  if (!endpoints) return fail(endpoints.error());
  config.endpoints = std::move(*endpoints);
  TcpEndpoint mine = config.endpoints[static_cast<size_t>(spec.rank)];
  mine.addresses = listener->endpoint().addresses;  // options may have excluded some
  config.apart = apart_from(spec);
  auto pairs = all_pairs(config.endpoints, mine, config.apart);
  if (!pairs) return fail(pairs.error());
  config.pairs = std::move(*pairs);
  config.listener = std::move(listener);
  config.socket_options = socket_options(options);
  config.eager = options.text("mesh") == "eager";
  config.heartbeat_ns = options.integer("heartbeat_interval_ms") * kMillisecond;
  config.connect_timeout_ms = options.integer("connect_timeout_ms");
  config.watchdog_ns = options.integer("watchdog_timeout_ms") * kMillisecond;
  config.log = spec.log;
  config.refused = spec.refused;
  return config;
}

class TcpClaim : public TransportClaim {
 public:
  explicit TcpClaim(std::unique_ptr<TcpListener> listener)
      : endpoint_(endpoint_bytes(listener->endpoint())), listener_(std::move(listener)) {}

  std::string endpoint() const override { return endpoint_; }
  Expected<std::unique_ptr<Group>> open(const GroupSpec& spec) override {
    if (!listener_) return fail(ErrorCode::kConfig, "this claim has been opened before");
    return open_tcp_group(spec, std::move(listener_));
  }

 private:
  const std::string endpoint_;
  std::unique_ptr<TcpListener> listener_;  // null once opened
};

}  // namespace

Expected<std::unique_ptr<Group>> open_tcp_group(const GroupSpec& spec,
                                                std::unique_ptr<TcpListener> listener) {
  const Deadline deadline = Deadline::after_ms(spec.options->integer("connect_timeout_ms"));
  if (Status status = check_spec(spec); !status) return fail(status.error());
  const auto fault = parse_fault(spec.options->text("fault"));
  if (!fault) return fail(fault.error());
  Expected<ControlConfig> config = control_config(spec, std::move(listener));
  if (!config) return fail(config.error());
  const bool eager = config->eager;
  const std::vector<bool> apart = config->apart;
  Expected<std::shared_ptr<TcpControl>> started = TcpControl::start(std::move(*config));
  if (!started) return fail(started.error());
  const std::shared_ptr<TcpControl> control = *started;
  if (spec.started) spec.started(control);
  if (Status status = control->establish(deadline); !status) return fail(status.error());

  const Group::Connect connect = [control, fault = *fault, rank = spec.rank](int peer,
                                                                             Deadline until) {
    return control->take_data(peer, until).map([&](std::unique_ptr<ByteStream> stream) {
      return wrap_fault(fault, rank, peer, std::move(stream));
    });
  };
  std::vector<std::unique_ptr<ByteStream>> streams(static_cast<size_t>(spec.size));
  for (int peer = 0; eager && peer < spec.size; ++peer) {
    if (peer == spec.rank || is_apart(apart, peer)) continue;
    Expected<std::unique_ptr<ByteStream>> stream = connect(peer, deadline);
    if (!stream) return fail(stream.error());
    streams[static_cast<size_t>(peer)] = std::move(*stream);
  }
  return std::make_unique<Group>(spec.rank, spec.size, spec.id, std::move(streams), connect,
                                 control, channel_options(spec), wait_options(spec), "tcp");
}

std::string tcp_unavailable(bool) { return {}; }

std::string tcp_site(const RankSite& site) {
  return endpoint_bytes({-1, {}, site.addresses, site.port});
}

Expected<std::unique_ptr<TransportClaim>> claim_tcp(const ClaimSpec& spec) {
  const Expected<TcpEndpoint> site = read_endpoint(spec.site, "the coordinator");
  if (!site) return fail(site.error());
  auto listener = TcpListener::open(site->addresses, site->port, *spec.options, spec.patience);
  if (!listener) return fail(listener.error());
  return std::make_unique<TcpClaim>(std::move(*listener));
}

Expected<TcpEndpoint> tcp_endpoint(int rank, const RankEndpoint& endpoint) {
  Expected<TcpEndpoint> read =
      read_endpoint(endpoint.claimed, fmt::format("rank {} on {}", rank, endpoint.host));
  if (!read) return read;
  read->rank = rank;
  read->host = endpoint.host;
  return read;
}

}  // namespace plumbline
