#include "transport/tcp/tcp.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.h"
#include "transport/address.h"
#include "transport/channel/fault.h"
#include "transport/control/control_state.h"
#include "transport/tcp/bulk_stream.h"
#include "transport/tcp/progress_thread.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/striped_stream.h"

namespace plumbline {
namespace {

constexpr int64_t kTellNs = 2 * kSecond;
constexpr int64_t kReasonMs = 250;

std::string stands_without(const PeerProgress& p) {
  if (p.streams == 1) return "control connection stands, data connection missing: ";
  return fmt::format(
      "control connection stands, {} of {} data connections missing: ", p.streams_left, p.streams);
}

class TcpControlImpl : public TcpControl {
 public:
  TcpControlImpl(ControlConfig config, std::unique_ptr<ControlState> state)
      : config_(std::move(config)),
        state_(std::move(state)),
        rank_(config_.identity.rank),
        thread_([this] { run_control_loop(config_, *state_, recorder_); }) {}

  ~TcpControlImpl() override {
    state_->request_stop();
    thread_.join();
  }

  bool failed() const override { return state_->failed(); }
  Error failure() const override { return state_->failure(); }
  void abort(const Error& reason) override { state_->fail(rank_, reason); }
  void give_up(const Error& reason) override { state_->fail(ControlState::kCoordinator, reason); }

  void begin_operation(uint32_t sequence, uint32_t op_hash, const std::string& text) override {
    recorder_.begin_operation(sequence, op_hash, text);
  }
  void end_operation(uint32_t sequence) override { recorder_.end_operation(sequence); }
  void waiting(int peer, uint32_t step, int64_t last_progress_ns) override {
    recorder_.waiting(peer, step, last_progress_ns);
  }

  RankStatus query(int peer, Deadline deadline, std::vector<FlightEntry>* recorder) override {
    if (peer != rank_) return state_->query(peer, deadline, recorder);
    if (recorder != nullptr) *recorder = recorder_.entries();
    return recorder_.status(rank_);
  }
  std::vector<FlightEntry> recorder() const override { return recorder_.entries(); }
  int wake_fd() const override { return state_->failed_fd(); }

  Status establish(Deadline deadline) override {
    const int64_t start = monotonic_ns();
    if (state_->wait_connected(config_.eager, deadline)) {
      state_->set_established();
      return {};
    }
    if (!state_->failed()) {
      state_->fail(rank_, missing(monotonic_ns() - start));
    } else if (state_->abort_message().origin == rank_ || !config_.apart.empty()) {
      // Others are still looking for this rank: it stays to tell them why there is no group. (Where
      // not all are connected, they may hear it from nobody else.)
      state_->wait_told(Deadline::at_ns(std::min(deadline.at_ns(), monotonic_ns() + kTellNs)));
    }
    return fail(state_->failure());
  }

  Expected<std::unique_ptr<ByteStream>> take_data(int peer, Deadline deadline) override {
    Expected<std::vector<Fd>> connections = state_->take_data(peer, deadline);
    if (!connections) return fail(connections.error());
    const std::string name =
        fmt::format("rank {} on {}", peer, config_.endpoints[static_cast<size_t>(peer)].host);
    std::vector<std::unique_ptr<ByteStream>> streams;
    for (Fd& connection : *connections) {
      streams.push_back(make_tcp_stream(std::move(connection), name));
    }
    const size_t bulk = config_.paths[static_cast<size_t>(peer)].bulk_streams;
    if (bulk == 0) return as_one(std::move(streams));
    const auto first_bulk = streams.end() - static_cast<std::ptrdiff_t>(bulk);
    std::vector<std::unique_ptr<ByteStream>> large(std::make_move_iterator(first_bulk),
                                                   std::make_move_iterator(streams.end()));
    streams.erase(first_bulk, streams.end());
    return make_bulk_stream(
        as_one(std::move(streams)),
        make_progressed_stream(make_one_way_stream(std::move(large), rank_ < peer),
                               config_.progress));
  }

 private:
  static std::unique_ptr<ByteStream> as_one(std::vector<std::unique_ptr<ByteStream>> streams) {
    if (streams.size() == 1) return std::move(streams.front());
    return make_striped_stream(std::move(streams));
  }

  // Names every rank that is not there, and what is known of it.
  Error missing(int64_t waited_ns) const {
    std::string list;
    std::vector<int> ranks;
    const std::vector<PeerProgress> peers = state_->progress();
    for (int peer = 0; peer < static_cast<int>(peers.size()); ++peer) {
      const PeerProgress& p = peers[static_cast<size_t>(peer)];
      if (peer == rank_ || (p.linked && (p.streams_left == 0 || !config_.eager))) continue;
      ranks.push_back(peer);
      const char* silence = peer < rank_ ? "it has not called" : "no answer yet";
      list += fmt::format("{}rank {} on {}: {}{}", list.empty() ? "" : "; ", peer,
                          config_.endpoints[static_cast<size_t>(peer)].host,
                          p.linked ? stands_without(p) : "", p.note.empty() ? silence : p.note);
    }
    return {ErrorCode::kTimeout,
            fmt::format("rank {}: {} of {} ranks missing after {:.1f} s ({})", rank_, ranks.size(),
                        peers.size(), static_cast<double>(waited_ns) / 1e9, list),
            0,
            "are these ranks running, and are their ports (--port-base and up) open? "
            "connect_timeout_ms sets the "
            "patience",
            "rank.missing",
            ranks};
  }

  const ControlConfig config_;
  FlightRecorder recorder_;
  const std::unique_ptr<ControlState> state_;
  const int rank_;
  std::thread thread_;  // last: it uses all of the above
};

// Those of all ranks, in rank order.
Expected<std::vector<TcpEndpoint>> read_endpoints(const GroupSpec& spec) {
  std::vector<TcpEndpoint> all;
  for (int rank = 0; rank < spec.size; ++rank) {
    Expected<TcpEndpoint> endpoint = tcp_endpoint(rank, spec.endpoints[static_cast<size_t>(rank)]);
    if (!endpoint) return fail(endpoint.error());
    if (endpoint->port == 0) {
      return fail_about(
          {rank}, ErrorCode::kConfig,
          fmt::format("rank {} on {} says that it listens on port 0", rank, endpoint->host),
          "ranks say the port that they have claimed");
    }
    all.push_back(std::move(*endpoint));
  }
  return all;
}

// Towards every peer; the entries of this rank and of those apart stay empty. `streams` 0 = one per
// cable; what is made of a connection is made of one.
Expected<std::vector<PeerPaths>> all_paths(const std::vector<TcpEndpoint>& endpoints,
                                           const TcpEndpoint& mine, const std::vector<bool>& apart,
                                           size_t streams,
                                           const std::vector<const TcpUpgrade*>& upgrades,
                                           bool progress) {
  std::vector<PeerPaths> all(endpoints.size());
  for (const TcpEndpoint& peer : endpoints) {
    if (peer.rank == mine.rank || is_apart(apart, peer.rank)) continue;
    PeerPaths& paths = all[static_cast<size_t>(peer.rank)];
    Expected<std::vector<AddressPair>> pairs = address_pairs(mine, peer);
    if (!pairs) return fail(pairs.error());
    paths.candidates = std::move(*pairs);
    paths.cables = cable_pairs(mine, peer);
    const bool upgraded = upgrades[static_cast<size_t>(peer.rank)] != nullptr;
    paths.streams = upgraded ? 1 : streams > 0 ? streams : std::max<size_t>(paths.cables.size(), 1);
    if (progress && !upgraded) {
      paths.bulk_streams = 2 * paths.streams;
      paths.streams += paths.bulk_streams;
    }
  }
  return all;
}

Expected<ControlConfig> control_config(const GroupSpec& spec, std::vector<TcpEndpoint> endpoints,
                                       std::unique_ptr<TcpListener> listener,
                                       const std::vector<const TcpUpgrade*>& upgrades) {
  const OptionSet& options = *spec.options;
  ControlConfig config;
  config.identity = {spec.rank, spec.size, spec.id, spec.token, agreed_text(spec)};
  config.endpoints = std::move(endpoints);
  TcpEndpoint mine = config.endpoints[static_cast<size_t>(spec.rank)];
  mine.addresses = listener->endpoint().addresses;  // options may have excluded some
  config.apart = apart_from(spec);
  const auto streams = static_cast<size_t>(options.integer("streams"));
  // A fault on purpose strikes what goes through one stream.
  const bool progress = spec.progress_thread && options.text("fault").empty();
  auto paths = all_paths(config.endpoints, mine, config.apart, streams, upgrades, progress);
  if (!paths) return fail(paths.error());
  if (std::any_of(paths->begin(), paths->end(),
                  [](const PeerPaths& peer) { return peer.bulk_streams > 0; })) {
    const bool room = spec.cores_usable >= 2 * spec.ranks_on_host;
    Expected<std::shared_ptr<ProgressThread>> thread =
        ProgressThread::start(spec.spare_core, room ? ProgressThread::kSpinNs : 0);
    if (!thread) return fail(thread.error());
    config.progress = std::move(*thread);
  }
  config.paths = std::move(*paths);
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
  TcpClaim(std::unique_ptr<TcpListener> listener, std::vector<TcpUpgrade> upgrades)
      : endpoint_(bytes_of(*listener, upgrades)),
        listener_(std::move(listener)),
        upgrades_(std::move(upgrades)) {}

  std::string endpoint() const override { return endpoint_; }
  Expected<std::unique_ptr<Group>> open(const GroupSpec& spec) override {
    if (!listener_) return fail(ErrorCode::kConfig, "this claim has been opened before");
    return open_tcp_group(spec, std::move(listener_), upgrades_);
  }

 private:
  static std::string bytes_of(const TcpListener& listener,
                              const std::vector<TcpUpgrade>& upgrades) {
    TcpEndpoint endpoint = listener.endpoint();
    endpoint.abilities = abilities_of(upgrades);
    return endpoint_bytes(endpoint);
  }

  const std::string endpoint_;
  std::unique_ptr<TcpListener> listener_;  // null once opened
  const std::vector<TcpUpgrade> upgrades_;
};

// Makes of a pair's connection what it is to become, and keeps what it became.
class Connector {
 public:
  // `upgrades` outlive it.
  Connector(const GroupSpec& spec, const std::optional<FaultSpec>& fault,
            const std::vector<TcpUpgrade>& upgrades, const std::vector<TcpEndpoint>& endpoints)
      : rank_(spec.rank),
        size_(spec.size),
        fault_(fault),
        upgrades_(upgrades_of_peers(upgrades, endpoints, spec.rank, apart_from(spec))),
        reasons_(endpoints.size()),
        pairs_(std::make_shared<PairTransports>(name_of_all(upgrades), spec.size)) {
    for (size_t peer = 0; peer < endpoints.size(); ++peer) {
      for (const TcpUpgrade& upgrade : upgrades) {
        if (upgrades_[peer] != nullptr || !reasons_[peer].empty()) break;
        const TcpEndpoint& mine = endpoints[static_cast<size_t>(spec.rank)];
        reasons_[peer] = why_not(upgrade, mine, endpoints[peer]);
      }
    }
  }

  const std::vector<const TcpUpgrade*>& upgrades() const { return upgrades_; }
  bool any(const TcpUpgrade& upgrade) const {
    return std::find(upgrades_.begin(), upgrades_.end(), &upgrade) != upgrades_.end();
  }
  std::shared_ptr<const PairTransports> pairs() const { return pairs_; }

  std::unique_ptr<ByteStream> made_of(std::unique_ptr<ByteStream> tcp, int peer) const {
    const TcpUpgrade* const more = upgrades_[static_cast<size_t>(peer)];
    PairTransport& pair = pairs_->of(peer);
    pair = {more != nullptr ? more->name : TcpUpgrade().name, {}};
    if (more == nullptr) {
      pair.reason = reasons_[static_cast<size_t>(peer)];
    } else {
      TcpUpgrade::Stays stays;
      if (!more->of_every_pair) {
        stays = [pairs = pairs_, peer](const std::string& reason) {
          pairs->of(peer) = {TcpUpgrade().name, reason};
        };
      }
      tcp = more->make(std::move(tcp), rank_, peer, size_, std::move(stays));
    }
    return wrap_fault(fault_, rank_, peer, std::move(tcp));
  }

 private:
  static std::string name_of_all(const std::vector<TcpUpgrade>& upgrades) {
    const bool every = !upgrades.empty() && upgrades.front().of_every_pair;
    return every ? upgrades.front().name : TcpUpgrade().name;
  }

  int rank_, size_;
  std::optional<FaultSpec> fault_;
  std::vector<const TcpUpgrade*> upgrades_;  // by peer; null = none
  std::vector<std::string> reasons_;         // by peer: why none, where somebody counted on it
  std::shared_ptr<PairTransports> pairs_;
};

using Streams = std::vector<std::unique_ptr<ByteStream>>;  // by peer

// A rank that gives up says why and then closes: its reason may still be on the way.
void await_reason(const TcpControl& control) {
  const Deadline patience = Deadline::after_ms(kReasonMs);
  while (!control.failed() && !patience.passed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Until all pairs have come to terms: every rank is here. What went wrong is told to the others.
Status come_to_terms(Streams& streams, TcpControl& control, Deadline deadline) {
  constexpr int kLookMs = 20;
  while (true) {
    std::vector<pollfd> waiting;
    std::vector<int> missing;
    for (size_t peer = 0; peer < streams.size(); ++peer) {
      const std::unique_ptr<ByteStream>& stream = streams[peer];
      if (!stream) continue;
      Expected<bool> ready = stream->ready();
      if (!ready) {
        if (ready.error().code == ErrorCode::kPeerLost) await_reason(control);
        if (ready.error().ranks.empty()) ready.error().ranks = {static_cast<int>(peer)};
        control.abort(ready.error());
        return fail(control.failure());
      }
      if (*ready) continue;
      stream->add_to(waiting, true, false);
      missing.push_back(static_cast<int>(peer));
    }
    if (missing.empty()) return {};
    if (control.failed()) return fail(control.failure());
    if (deadline.passed()) {
      control.abort({ErrorCode::kTimeout,
                     fmt::format("{} ranks have not said what they share in time", missing.size()),
                     0, "connect_timeout_ms sets the patience", "rank.late", missing});
      return fail(control.failure());
    }
    ::poll(waiting.data(), static_cast<nfds_t>(waiting.size()), deadline.poll_timeout_ms(kLookMs));
  }
}

}  // namespace

Expected<std::shared_ptr<TcpControl>> TcpControl::start(ControlConfig config) {
  std::vector<size_t> streams;
  for (const PeerPaths& paths : config.paths) streams.push_back(paths.streams);
  auto state = ControlState::create(config.identity.rank, config.identity.size, config.apart,
                                    streams, config.heartbeat_ns);
  if (!state) return fail(state.error());
  try {
    return std::make_shared<TcpControlImpl>(std::move(config), std::move(*state));
  } catch (const std::system_error& error) {
    return fail_errno(ErrorCode::kSystem, "start the control thread", error.code().value(),
                      resource_hint(error.code().value()));
  }
}

Expected<std::unique_ptr<Group>> open_tcp_group(const GroupSpec& spec,
                                                std::unique_ptr<TcpListener> listener,
                                                const std::vector<TcpUpgrade>& upgrades) {
  const Deadline deadline = Deadline::after_ms(spec.options->integer("connect_timeout_ms"));
  if (Status status = check_spec(spec); !status) return fail(status.error());
  const auto fault = parse_fault(spec.options->text("fault"));
  if (!fault) return fail(fault.error());
  Expected<std::vector<TcpEndpoint>> endpoints = read_endpoints(spec);
  if (!endpoints) return fail(endpoints.error());
  if (Status able = check_every_pair(upgrades, *endpoints, spec.apart); !able) {
    return fail(able.error());
  }
  const auto shared = std::make_shared<const std::vector<TcpUpgrade>>(upgrades);
  const Connector connector(spec, *fault, *shared, *endpoints);
  Expected<ControlConfig> config =
      control_config(spec, std::move(*endpoints), std::move(listener), connector.upgrades());
  if (!config) return fail(config.error());
  const bool eager = config->eager;
  const std::vector<bool> apart = config->apart;
  Expected<std::shared_ptr<TcpControl>> started = TcpControl::start(std::move(*config));
  if (!started) return fail(started.error());
  const std::shared_ptr<TcpControl> control = *started;
  if (spec.started) spec.started(control);
  if (Status status = control->establish(deadline); !status) return fail(status.error());

  const Group::Connect connect = [control, connector, shared](int peer, Deadline until) {
    return control->take_data(peer, until).map([&](std::unique_ptr<ByteStream> stream) {
      return connector.made_of(std::move(stream), peer);
    });
  };
  Streams streams(static_cast<size_t>(spec.size));
  for (int peer = 0; eager && peer < spec.size; ++peer) {
    if (peer == spec.rank || is_apart(apart, peer)) continue;
    Expected<std::unique_ptr<ByteStream>> stream = connect(peer, deadline);
    if (!stream) return fail(stream.error());
    streams[static_cast<size_t>(peer)] = std::move(*stream);
  }
  if (Status status = come_to_terms(streams, *control, deadline); !status) {
    return fail(status.error());
  }
  const std::shared_ptr<const PairTransports> pairs = connector.pairs();
  // Where no pair has become more after all, nobody reaches what they would lie in.
  std::shared_ptr<ArrayPool> arrays;
  for (const TcpUpgrade& upgrade : *shared) {
    const bool may = upgrade.of_every_pair || !eager || pairs->any(upgrade.name);
    if (upgrade.arrays && may && connector.any(upgrade)) arrays = upgrade.arrays(arrays);
  }
  return std::make_unique<Group>(spec.rank, spec.size, spec.id, std::move(streams), connect,
                                 control, channel_options(spec), wait_options(spec), pairs,
                                 std::move(arrays));
}

std::string tcp_unavailable(bool) { return {}; }

std::string tcp_site(const RankSite& site) {
  TcpEndpoint endpoint = {-1, {}, site.addresses, site.port};
  endpoint.rdma_devices = site.rdma_devices;
  return endpoint_bytes(endpoint);
}

Expected<std::unique_ptr<TransportClaim>> claim_tcp(const ClaimSpec& spec) {
  return claim_over_tcp(spec, [](const TcpEndpoint&) { return std::vector<TcpUpgrade>(); });
}

Expected<std::unique_ptr<TransportClaim>> claim_over_tcp(const ClaimSpec& spec,
                                                         const MakeUpgrades& make) {
  const Expected<TcpEndpoint> site = read_endpoint(spec.site, "the coordinator");
  if (!site) return fail(site.error());
  auto listener = TcpListener::open(site->addresses, site->port, *spec.options, spec.patience);
  if (!listener) return fail(listener.error());
  return std::make_unique<TcpClaim>(std::move(*listener), make(*site));
}

Expected<TcpEndpoint> tcp_endpoint(int rank, const RankEndpoint& endpoint) {
  Expected<TcpEndpoint> read =
      read_endpoint(endpoint.claimed, fmt::format("rank {} on {}", rank, endpoint.host));
  if (!read) {
    read.error().ranks = {rank};
    return read;
  }
  read->rank = rank;
  read->host = endpoint.host;
  return read;
}

}  // namespace plumbline
