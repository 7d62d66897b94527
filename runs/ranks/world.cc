#include "runs/ranks/world.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/cell_run.h"
#include "collectives/engine.h"
#include "collectives/links/link_measure.h"
#include "core/record/record.h"
#include "core/text.h"
#include "launch/affinity.h"
#include "runs/hosts/memory_check.h"
#include "runs/hosts/port_window.h"
#include "runs/plan_of.h"
#include "runs/ranks/link_pairs.h"
#include "scenarios/placement.h"
#include "transport/address.h"

namespace plumbline {
namespace {

constexpr int kStopPoliteMs = 300;
constexpr int64_t kLeaveMs = 10'000;
// Second threads bring two more connections for each of a pair: not by themselves where that takes
// more of a process than half of what a system usually lets it have open.
constexpr int64_t kMostOwnConnections = 512;
constexpr int kMostWindows = 4;  // of ports, tried before a world of ranks is given up

uint32_t fresh_verify_seed() {
  const Digest random = random_token();
  uint32_t seed = 1;  // never 0, which stands for none
  for (size_t i = 0; i + 1 < sizeof(seed); ++i) {
    seed = seed << 8 | std::to_integer<uint32_t>(random[i]);
  }
  return seed;
}

MeasureSettings settings_of(const PlanCell& planned) {
  MeasureSettings settings;
  settings.cold_operations = planned.cold_operations;
  if (!planned.fixed) {
    settings.stop = planned.stop;
    settings.throughput_time_ns = planned.throughput_time_ns;
    return settings;
  }
  const FixedCount& fixed = *planned.fixed;
  settings.fixed_iterations = fixed.iterations;
  settings.fixed_warmup = fixed.warmup;
  settings.tail = fixed.tail;
  settings.verify_iterations = fixed.verified ? 1 : 0;
  settings.aggregate = fixed.aggregate;
  settings.operation_timeout_ms = fixed.timeout_ms;
  return settings;
}

}  // namespace

World::World(WorldSpec spec)
    : spec_(std::move(spec)), token_(random_token()), talk_(spec_.caller, spec_.log) {}

World::~World() { stop(); }

void World::stop() {
  if (spec_.launched != nullptr) {
    leave();
  } else if (own_) {
    own_->stop(kStopPoliteMs);
  }
  own_.reset();
  ranks_ = nullptr;
  shape_.reset();
}

// The ranks of a launcher stay for the next group.
void World::leave() {
  if (ranks_ == nullptr || !spec_.launched->broken.empty()) return;
  const auto count = static_cast<size_t>(ranks_->size());
  const Expected<std::vector<Message>> left = talk_.ask(
      *ranks_, std::vector<std::string>(count, encode(LeaveMessage{})), kLeaveMs, kLeaveMs);
  if (!left) spec_.launched->broken = left.error().message();
}

Status World::ensure_world(const WorldShape& world) {
  WorldShape fits = world;
  if (shape_) fits.params = shape_->params;
  if (shape_ && *shape_ == fits) return {};
  fits.params.clear();
  return start(fits);
}

SetupMessage World::setup_for(int rank, const OptionSet& options, int port_base) const {
  const ScenarioHost& host = spec_.hosts[places_.hosts[static_cast<size_t>(rank)]];
  SetupMessage setup;
  setup.rank = rank;
  setup.size = static_cast<int>(places_.hosts.size());
  setup.group = group_;
  setup.token = token_;
  setup.plan_hash = spec_.plan_hash;
  setup.host = host.name;
  setup.options = options.values();
  RankSite site;
  site.port = static_cast<uint16_t>(port_base + rank);
  if (spec_.launched != nullptr) {
    const LaunchedRank& launched =
        spec_.launched->ranks[places_.members[static_cast<size_t>(rank)]];
    site.addresses = launched.addresses;
    setup.site = transport_->site(site);
    // Remote ranks derive the token from what travels and the secret of the rendezvous.
    if (!launched.remote) setup.token = hmac_sha256(spec_.launched->secret, token_);
    setup.options["bind_to"] = {"none", "launcher"};  // which has placed and bound the ranks
    return setup;
  }
  for (const std::string& text : host.data) {
    site.addresses.push_back(rank_address(text, host.interface));
  }
  // A matrix names the devices for each host of the list.
  for (const size_t peer : places_.hosts) {
    const bool named = peer < host.rdma.size();
    site.rdma_devices.push_back(named ? host.rdma[peer] : std::vector<std::string>());
  }
  setup.site = transport_->site(site);
  return setup;
}

Status World::start(const WorldShape& shape) {
  stop();
  OptionSet options = spec_.options;
  if (shape.transport != "auto") {
    Expected<OptionSet> with = options.with("transport", shape.transport, "cell");
    if (!with) return fail(with.error());
    options = std::move(*with);
  }
  for (const auto& [name, value] : shape.params) {
    Expected<OptionSet> with = options.with(name, value, "cell");
    if (!with) return fail(with.error());
    options = std::move(*with);
  }
  const auto transport = find_transport(options.text("transport"), spec_.ranks_in_process);
  if (!transport) return fail(transport.error());
  transport_ = *transport;
  Expected<RankPlaces> places = places_in_world(spec_.hosts, spec_.launched, shape);
  if (!places) return fail(places.error());
  places_ = std::move(*places);
  // Between the check of a window and the ranks' own listening somebody may take a port: where the
  // window is ours to choose, we look again.
  for (int windows = 1;; ++windows) {
    const Expected<int> port_base = choose_ports(options);
    const Status connected =
        port_base ? connect(options, *port_base) : Status(fail(port_base.error()));
    if (connected) {
      shape_ = shape;
      const Status tuned = take_tuning(options);
      if (!tuned) stop();
      return tuned;
    }
    if (connected.error().cause != "tcp.port_in_use" || windows == kMostWindows) return connected;
    const bool ours = options.text("port_base") == "auto" ||
                      (spec_.launched == nullptr && may_choose_window(spec_.options, spec_.hosts));
    if (!ours) return connected;
    if (const Status left = leave_window(options, connected.error()); !left) return left;
  }
}

// What the ranks' algorithms are chosen by, now that their machines are known.
Status World::take_tuning(const OptionSet& options) {
  tuning_.reset();
  TuningPlace place;
  place.transport = transport_->name;
  place.hosts = tuned_hosts(spec_.hosts, places_.hosts);
  for (const size_t host : places_.hosts) {
    place.machines.push_back(machine_text(facts_[spec_.hosts[host].name]));
  }
  Expected<FoundTuning> found = find_tuning(options, place);
  if (!found) return fail(found.error());
  tuning_ = std::move(found->use);
  if (spec_.caller != nullptr && !found->note.empty() && found->note != tuning_note_) {
    spec_.caller->say("plumbline: " + found->note);
  }
  tuning_note_ = std::move(found->note);
  return {};
}

// Another window for this world and those that follow, and the user is told.
Status World::leave_window(OptionSet& options, const Error& why) {
  if (options.text("port_base") == "auto") return {};  // chosen anew each time, as was asked for
  Expected<MovedWindow> free = move_window(spec_.options, spec_.hosts,
                                           static_cast<int>(places_.hosts.size()), why, claims());
  if (!free) return fail(free.error());
  spec_.options = std::move(free->options);
  Expected<OptionSet> moved =
      options.with("port_base", spec_.options.text("port_base"), spec_.options.origin("port_base"));
  if (!moved) return fail(moved.error());
  options = std::move(*moved);
  if (spec_.notice) spec_.notice(free->notice);
  return {};
}

// To each rank: where everybody is, and which of its machine's cores are its own. Namespaces and
// containers of one machine share its cores, and its boot id.
Expected<std::vector<std::string>> World::connect_lines(const std::vector<Message>& ready,
                                                        const OptionSet& options, int port_base) {
  std::vector<ConnectMessage> connects(ready.size());
  std::vector<RankEndpoint> endpoints;
  std::map<std::string, int> ranks_on;
  std::vector<std::string> machines;
  for (size_t rank = 0; rank < ready.size(); ++rank) {
    const auto* answer = std::get_if<ReadyMessage>(&ready[rank]);
    if (answer == nullptr) return fail(ErrorCode::kProtocol, "a rank answered out of turn");
    const std::string& host = spec_.hosts[places_.hosts[rank]].name;
    if (answer->version != PLUMBLINE_VERSION) {
      return fail(Error{ErrorCode::kMismatch,
                        fmt::format("rank {} on {} is plumbline {}, this is {}", rank, host,
                                    answer->version, PLUMBLINE_VERSION),
                        0, "install the same version on every host", "config.version_mismatch"});
    }
    endpoints.push_back({host, answer->claimed});
    facts_[host] = answer->facts;
    const std::string& boot = answer->facts.boot_id;
    machines.push_back(boot.empty() ? host : boot);
    connects[rank].slot = ranks_on[machines.back()]++;
  }
  // Only the coordinator knows all machines, and all ranks have to do the same.
  const std::string& threads = options.text("progress_thread");
  const auto peers = static_cast<int64_t>(ready.size()) - 1;
  const int64_t ranks_in_process = spec_.ranks_in_process ? peers + 1 : 1;
  const int64_t streams = std::max<int64_t>(options.integer("streams"), 1);
  bool room = peers * (3 * streams + 1) * ranks_in_process <= kMostOwnConnections;
  for (size_t rank = 0; rank < ready.size(); ++rank) {
    const int cores = std::get<ReadyMessage>(ready[rank]).facts.cores_usable;
    room = room && cores_for_second_threads(cores, ranks_on[machines[rank]]);
  }
  std::vector<std::string> lines;
  constexpr int kOffsets = 100;
  const RankPairs apart = apart_ranks(spec_.hosts, places_.hosts);
  for (size_t rank = 0; rank < ready.size(); ++rank) {
    connects[rank].endpoints = endpoints;
    connects[rank].apart = apart;
    connects[rank].ranks_on_machine = ranks_on[machines[rank]];
    connects[rank].cpu_offset = port_base % kOffsets;
    connects[rank].progress_thread = threads == "on" || (threads == "auto" && room);
    lines.push_back(encode(connects[rank]));
  }
  return lines;
}

// Ports are looked at where we can see them: here.
Expected<int> World::choose_ports(const OptionSet& options) {
  if (!transport_->takes_ports) return 0;
  const auto ranks = static_cast<int>(places_.hosts.size());
  if (spec_.launched == nullptr) return choose_port_base(options, spec_.hosts, ranks, claims());
  std::vector<ScenarioHost> here;
  if (!spec_.launched->ranks.front().remote) here.push_back(spec_.hosts.front());
  return choose_port_base(options, here, ranks, claims());
}

Status World::ready_processes() {
  if (spec_.launched != nullptr) {
    ranks_ = spec_.launched->wires.get();
    ranks_->use(places_.members);
    return {};
  }
  std::vector<ServingCommand> places;
  for (const size_t index : places_.hosts) {
    places.push_back(command_on(spec_.hosts[index], spec_.reach, "rank"));
    if (!spec_.ranks_in_process) continue;
    std::vector<std::string>& argv = places.back().argv;
    argv.insert(argv.end(), {"--threads", std::to_string(places_.hosts.size())});
  }
  std::function<void(const std::string&)> say;
  if (spec_.caller != nullptr) {
    say = [caller = spec_.caller](const std::string& line) { caller->say(line); };
  }
  Expected<std::unique_ptr<RankSet>> set =
      RankSet::start(places, encode(AliveMessage{}), say,
                     spec_.ranks_in_process ? RanksAre::kThreads : RanksAre::kProcesses);
  if (!set) return fail(set.error());
  own_ = std::move(*set);
  ranks_ = own_.get();
  return {};
}

Status World::connect(const OptionSet& options, int port_base) {
  ++group_;
  std::vector<std::string> lines;
  for (size_t rank = 0; rank < places_.hosts.size(); ++rank) {
    lines.push_back(encode(setup_for(static_cast<int>(rank), options, port_base)));
  }
  if (const Status ready = ready_processes(); !ready) return ready;
  // As patient with ranks that start as they are with one another later.
  constexpr int64_t kLeastBeats = 3;
  const int64_t beat_ms = options.integer("heartbeat_interval_ms");
  const int64_t watchdog_ms = options.integer("watchdog_timeout_ms");
  ranks_->watch(std::max(watchdog_ms + beat_ms, kLeastBeats * beat_ms) * kMillisecond);
  const Status joined = join(lines, options, port_base);
  ranks_->watch(0);
  if (!joined) stop();
  return joined;
}

// Everybody listens and says where, then everybody connects.
Status World::join(const std::vector<std::string>& setups, const OptionSet& options,
                   int port_base) {
  const int64_t timeout_ms = options.integer("connect_timeout_ms") + 5000;
  const Expected<std::vector<Message>> ready = talk_.ask(*ranks_, setups, timeout_ms, timeout_ms);
  if (!ready) return fail(ready.error());
  const Expected<std::vector<std::string>> connects = connect_lines(*ready, options, port_base);
  if (!connects) return fail(connects.error());
  const Expected<std::vector<Message>> connected =
      talk_.ask(*ranks_, *connects, timeout_ms, timeout_ms);
  if (!connected) return fail(connected.error());
  return take_transports(*connected);
}

// What the pairs of ranks came to; whoever thinks that they share memory is told when they do not.
Status World::take_transports(const std::vector<Message>& connected) {
  used_ = {};
  for (const Message& message : connected) {
    const auto* answer = std::get_if<ConnectedMessage>(&message);
    if (answer == nullptr) return fail(ErrorCode::kProtocol, "a rank answered out of turn");
    used_.add_transport(answer->transport);
    for (const FellBack& pairs : answer->fell_back) used_.add(pairs);
  }
  std::string note;
  for (const FellBack& pairs : used_.fell_back) {
    note += (note.empty() ? "" : "; ") + fell_back_text(pairs);
  }
  if (spec_.caller != nullptr && !note.empty() && note != fell_back_note_) {
    spec_.caller->say("plumbline: " + printable(note));
  }
  fell_back_note_ = std::move(note);
  return {};
}

Expected<Measurement> World::run(const PlanCell& asked) {
  const WorldShape shape = world_of(asked.cell);
  if (!shape_ || *shape_ != shape) {
    if (const Status started = start(shape); !started) return fail(started.error());
  }
  PlanCell planned = asked;
  const RankPairs apart = apart_ranks(spec_.hosts, places_.hosts);
  const bool own_cables = have_own_cables(spec_.hosts, places_.hosts);
  if (tuning_) {
    planned.cell.algorithm =
        algorithm_with(tuning_->tuning, asked.cell, spec_.options, apart, own_cables);
  }
  const Cell& cell = planned.cell;
  const bool link = row(cell.kind).timing == CellTiming::kPairs;
  if (!row(cell.kind).own_connections()) {
    Expected<std::string> algorithm = algorithm_between(cell, spec_.options, apart, own_cables);
    if (!algorithm) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("{} over these hosts: {}: {}", cell.op,
                              apart_reason(spec_.hosts, shape), algorithm.error().what),
                  algorithm.error().hint);
    }
    planned.cell.algorithm = std::move(*algorithm);
  }
  if (const Status enough = fits(planned); !enough) return fail(enough.error());
  MeasureSettings settings = settings_of(planned);
  settings.verify_seed = fresh_verify_seed();
  settings.operation_timeout_ms =
      std::min(settings.operation_timeout_ms, spec_.options.integer("watchdog_timeout_ms"));
  if (link) settings.pair_reasons = pair_reasons(spec_.hosts, places_.hosts);
  settings.endpoint_key = endpoint_key(cell.key_from);
  const std::string line = encode(RunMessage{cell, settings});
  Expected<std::vector<Message>> answers =
      talk_.ask(*ranks_, std::vector<std::string>(static_cast<size_t>(cell.ranks), line),
                cell_limit_ms(cell, settings),
                settings.operation_timeout_ms + spec_.options.integer("heartbeat_interval_ms"));
  if (!answers) {
    if (spec_.launched != nullptr) spec_.launched->broken = answers.error().message();
    stop();
    return fail(answers.error());
  }
  Measurement result;
  for (size_t rank = 0; rank < answers->size(); ++rank) {
    auto* answer = std::get_if<MeasurementMessage>(&(*answers)[rank]);
    if (answer == nullptr) return fail(ErrorCode::kProtocol, "a rank answered out of turn");
    Measurement& measurement = answer->measurement;
    auto& pairs = measurement.resolved.address_pairs;
    if (rank == 0) {
      result = std::move(measurement);
      continue;
    }
    for (PerRank& entry : measurement.per_rank) result.per_rank.push_back(std::move(entry));
    for (LinkResult& entry : measurement.links) result.links.push_back(std::move(entry));
    auto& all = result.resolved.address_pairs;
    all.insert(all.end(), pairs.begin(), pairs.end());
    for (const ConnectionSettings& entry : measurement.resolved.connections) {
      result.resolved.add(entry);
    }
    for (const FellBack& entry : measurement.resolved.fell_back) result.resolved.add(entry);
    if (!has_own_network(cell.engine)) {
      result.resolved.add_transport(measurement.resolved.transport);
    }
  }
  if (link) {
    result.extra[kStatedSpeeds] =
        static_cast<double>(add_link_speeds(spec_.hosts, facts_, result.links));
    judge_links(result);
  }
  const auto speed =
      slowest_link_bps(spec_.hosts, places_.hosts, facts_, result.resolved.address_pairs);
  if (speed) result.extra[kLinkSpeed] = *speed;
  return result;
}

Status World::fits(const PlanCell& cell) const {
  return fits_memory(cell, spec_.options, {&spec_.hosts, places_.hosts, &facts_});
}

std::vector<RankSeat> World::seats() const {
  std::vector<RankSeat> seats;
  for (size_t rank = 0; rank < places_.hosts.size(); ++rank) {
    seats.push_back(seat(static_cast<int>(rank)));
    seats.back().transport = used_.transport;
  }
  return seats;
}

RankSeat World::seat(int rank) const {
  const ScenarioHost& host = spec_.hosts[places_.hosts[static_cast<size_t>(rank)]];
  RankSeat seat;
  seat.host = host.name;
  seat.pid = ranks_ != nullptr ? ranks_->pid(rank) : 0;
  if (host.data.empty()) return seat;
  seat.address = rank_address(host.data.front(), "").ip;
  const auto facts = facts_.find(host.name);
  if (facts == facts_.end()) return seat;
  for (const Nic& nic : facts->second.nics) {
    for (const NicAddress& address : nic.addresses) {
      if (address.ip == seat.address) seat.interface = nic.name;
    }
  }
  return seat;
}

Environment World::environment() {
  Environment environment;
  for (const auto& [name, facts] : facts_) environment.hosts.push_back(facts);
  environment.options = spec_.options.values();
  if (tuning_) {
    OptionValue& tuning = environment.options["tuning"];
    tuning.value = tuning_->path;
    if (tuning.origin == "default") tuning.origin = "plumbline tune";
  }
  environment.command = spec_.command;
  environment.control = spec_.launched != nullptr ? "data-network"
                        : any_by_ssh(spec_.hosts) ? "ssh"
                                                  : "pipes";
  environment.auth = spec_.launched == nullptr ? "token" : spec_.launched->auth;
  return environment;
}

}  // namespace plumbline
