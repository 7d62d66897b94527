#include "transport/tcp/tcp.h"

#include <fmt/format.h>

#include "transport/address.h"
#include "transport/channel/fault.h"
#include "transport/control/control_tcp.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

Status check(const GroupSpec& spec) {
  if (spec.size < 1 || spec.rank < 0 || spec.rank >= spec.size) {
    return fail(ErrorCode::kConfig, fmt::format("rank {} of {} ranks", spec.rank, spec.size),
                "ranks count from 0");
  }
  if (spec.endpoints.size() != static_cast<size_t>(spec.size)) {
    return fail(ErrorCode::kConfig,
                fmt::format("{} endpoints for {} ranks", spec.endpoints.size(), spec.size));
  }
  for (int rank = 0; rank < spec.size; ++rank) {
    const RankEndpoint& endpoint = spec.endpoints[static_cast<size_t>(rank)];
    if (endpoint.rank == rank && (endpoint.port != 0 || spec.size == 1)) continue;
    return fail(ErrorCode::kConfig,
                fmt::format("endpoint {} says rank {} port {}", rank, endpoint.rank, endpoint.port),
                "endpoints stand in rank order, each with its port");
  }
  const auto in_world = [&spec](int rank) { return rank >= 0 && rank < spec.size; };
  for (const auto& [a, b] : spec.apart) {
    if (in_world(a) && in_world(b) && a != b) continue;
    return fail(ErrorCode::kConfig, fmt::format("ranks {} and {} cannot be apart", a, b));
  }
  return {};
}

// By peer: has no path to this rank; empty when all ranks are connected.
std::vector<bool> apart_from(const GroupSpec& spec) {
  if (spec.apart.empty()) return {};
  std::vector<bool> apart(static_cast<size_t>(spec.size), false);
  for (const auto& [a, b] : spec.apart) {
    if (a == spec.rank) apart[static_cast<size_t>(b)] = true;
    if (b == spec.rank) apart[static_cast<size_t>(a)] = true;
  }
  return apart;
}

bool is_apart(const std::vector<bool>& apart, int peer) {
  return !apart.empty() && apart[static_cast<size_t>(peer)];
}

// Candidates towards every peer; the entries of this rank and of those apart stay empty.
Expected<std::vector<std::vector<AddressPair>>> all_pairs(const GroupSpec& spec,
                                                          const RankEndpoint& mine,
                                                          const std::vector<bool>& apart) {
  std::vector<std::vector<AddressPair>> all(spec.endpoints.size());
  for (const RankEndpoint& peer : spec.endpoints) {
    if (peer.rank == spec.rank || is_apart(apart, peer.rank)) continue;
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
  config.identity = {spec.rank, spec.size, spec.id, spec.token,
                     options.config_text() + spec.agreement};
  config.endpoints = spec.endpoints;
  RankEndpoint mine = spec.endpoints[static_cast<size_t>(spec.rank)];
  mine.addresses = listener->endpoint().addresses;  // options may have excluded some
  config.apart = apart_from(spec);
  auto pairs = all_pairs(spec, mine, config.apart);
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

ChannelOptions channel_options(const GroupSpec& spec) {
  ChannelOptions out;
  out.chunk_bytes = static_cast<size_t>(spec.options->integer("chunk_bytes"));
  out.crc = spec.options->flag("transport_crc");
  out.crc32c = spec.crc32c;
  out.park_bytes = static_cast<size_t>(spec.options->integer("demux_park_bytes"));
  return out;
}

WaitOptions wait_options(const GroupSpec& spec) {
  // A rank that spins on a core which another rank needs makes both slow.
  return {spec.options->integer("spin_us") * 1000, spec.ranks_on_host > spec.cores_usable, {}};
}

}  // namespace

Expected<std::unique_ptr<Group>> open_tcp_group(const GroupSpec& spec,
                                                std::unique_ptr<TcpListener> listener) {
  const Deadline deadline = Deadline::after_ms(spec.options->integer("connect_timeout_ms"));
  if (Status status = check(spec); !status) return fail(status.error());
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

Expected<std::unique_ptr<Group>> open_tcp_group(const GroupSpec& spec) {
  if (Status status = check(spec); !status) return fail(status.error());
  const RankEndpoint& mine = spec.endpoints[static_cast<size_t>(spec.rank)];
  auto listener = TcpListener::open(mine.addresses, mine.port, *spec.options);
  if (!listener) return fail(listener.error());
  return open_tcp_group(spec, std::move(*listener));
}

}  // namespace plumbline
