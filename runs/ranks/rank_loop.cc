// A rank ends when its input ends, whatever it is doing: what is under way is given up, so that
// nothing is left behind when the coordinator dies.

#include "runs/ranks/rank_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/cell_run.h"
#include "collectives/schedule.h"
#include "core/host/process_facts.h"
#include "core/log.h"
#include "core/units.h"
#include "launch/affinity.h"
#include "launch/rank_wire.h"
#include "runs/ranks/rank_requests.h"
#include "transport/memory/memory.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

// For what a rank of the start before still holds: a stopped one goes a second after its host has
// seen that nobody asks for it any more, and later where that host is busy.
constexpr int64_t kClaimWaitMs = 4000;

ConnectionSettings settings_of(const StreamStats& stream) {
  return {stream.congestion_control, static_cast<uint64_t>(stream.mss.value_or(0)),
          stream.send_buffer.value_or(0), stream.recv_buffer.value_or(0), 1};
}

// What its pairs use; those that could not share memory are told by the lower rank of each.
void add_transports(const Group& group, Resolved& resolved) {
  resolved.transport = group.transport_name();
  const std::vector<PairTransport>& pairs = group.pair_transports();
  for (size_t peer = 0; peer < pairs.size(); ++peer) {
    if (pairs[peer].reason.empty() || static_cast<int>(peer) < group.rank()) continue;
    resolved.add(FellBack{fmt::format("{}-{}", group.rank(), peer), 1, pairs[peer].reason});
  }
}

// What each connection got, and the addresses really used, told by the lower rank of each pair.
// How many there are per pair a cell that made its own has told already.
void add_path(const Group& group, bool own_connections, Resolved& resolved) {
  if (!own_connections) add_transports(group, resolved);
  const auto streams = group.stream_stats();
  for (size_t peer = 0; peer < streams.size(); ++peer) {
    if (!streams[peer]) continue;
    std::vector<StreamStats> parts = streams[peer]->parts;
    if (parts.empty()) parts.push_back(*streams[peer]);
    resolved.congestion_control = parts.front().congestion_control;
    resolved.progress_thread = resolved.progress_thread || streams[peer]->progress_thread;
    if (!own_connections) {
      resolved.streams = std::max(resolved.streams, static_cast<int>(parts.size()));
    }
    for (const StreamStats& part : parts) {
      if (part.mss) resolved.add(settings_of(part));
      if (static_cast<int>(peer) < group.rank()) continue;
      resolved.address_pairs.push_back(
          fmt::format("{}-{} {}>{}", group.rank(), peer, part.local, part.remote));
    }
  }
}

class Rank {
 public:
  explicit Rank(const RankLine& line)
      : answers_(line.to),
        requests_(line, answers_),
        secret_(line.secret),
        meeting_(line.meeting) {}

  // Until the input ends. Errors of the group are answered, then the coordinator ends this process.
  int serve() {
    while (const std::optional<Message> request = requests_.next()) {
      const Message& message = *request;
      if (const auto* setup = std::get_if<SetupMessage>(&message)) {
        report(with_memory("to begin", [&] { return claim(*setup); }));
      } else if (const auto* connect = std::get_if<ConnectMessage>(&message)) {
        report(with_memory("to connect", [&] { return join(*connect); }));
      } else if (const auto* run = std::get_if<RunMessage>(&message)) {
        const Cell& cell = run->cell;
        report(with_memory(
            fmt::format("for {} {} of {}", to_string(cell.kind), cell.op, format_bytes(cell.bytes)),
            [&] { return measure_cell(*run); }));
      } else if (std::holds_alternative<LeaveMessage>(message)) {
        leave();
        answers_.send(LeftMessage{refused_.take()});
      } else {
        report(fail(ErrorCode::kProtocol, "unexpected request"));
      }
    }
    return requests_.status();
  }

 private:
  void report(const Status& status) {
    if (!status) answers_.send(ErrorMessage{status.error(), refused_.take()});
  }

  // Out of the group, as if just started; the process stays for the next one.
  void leave() {
    engines_.clear();
    executor_.reset();
    group_.reset();
    claim_.reset();
  }

  Status claim(const SetupMessage& setup) {
    leave();
    setup_ = setup;
    if (secret_) setup_.token = hmac_sha256(*secret_, setup.token);
    ReadyMessage ready;  // its facts are read before binding, which would leave one usable core
    ready.facts = read_host_facts();
    options_ = options_of(setup);
    LogLevel level = LogLevel::kWarn;
    log_level_from(options_.text("log_level"), level);
    log_.emplace("rank " + std::to_string(setup.rank), level, log_lines());
    for (const auto& [name, value] : options_.values()) {
      log_->info(name + " = " + value.value + " (" + value.origin + ")");
    }
    Expected<const KernelSet*> kernels = select_kernels(options_.text("kernel"));
    if (!kernels) return fail(kernels.error());
    kernels_ = *kernels;
    const auto transport = find_transport(options_.text("transport"), meeting_ != nullptr);
    if (!transport) return fail(transport.error());
    Expected<std::unique_ptr<TransportClaim>> claim =
        (*transport)->claim({setup.site, &options_, Deadline::after_ms(kClaimWaitMs), meeting_});
    if (!claim) return fail(claim.error());
    claim_ = std::move(*claim);
    ready.claimed = claim_->endpoint();
    ready.version = PLUMBLINE_VERSION;
    cores_usable_ = ready.facts.cores_usable;
    answers_.send(ready);
    return {};
  }

  // Only this machine knows its own CPUs, and only the coordinator who else runs on them.
  Status bind(const ConnectMessage& connect) {
    // Before it was bound: of the second group of a rank these are still the ones to choose from.
    if (cpus_.empty()) cpus_ = cpus_by_preference();
    const auto mine = [&](const auto& choose) {
      return choose(options_.text("bind_to"), cpus_, connect.ranks_on_machine,
                    connect.cpu_offset)[static_cast<size_t>(connect.slot)];
    };
    cpu_ = mine(choose_cpus);
    spare_cpu_ = mine(choose_spare_cpus);
    const Status bound = cpu_ < 0 ? Status{} : bind_to_cpu(cpu_);
    affinity_ = own_affinity();
    return bound;
  }

  Status join(const ConnectMessage& connect) {
    if (const Status bound = bind(connect); !bound) return bound;
    GroupSpec spec;
    spec.rank = setup_.rank;
    spec.size = setup_.size;
    spec.id = setup_.group;
    spec.endpoints = connect.endpoints;
    spec.apart = connect.apart;
    spec.token = setup_.token;
    spec.options = &options_;
    spec.agreement = "plan=" + setup_.plan_hash + "\n";
    spec.log = &*log_;
    spec.refused = &refused_;
    spec.started = [this](const auto& control) { requests_.group().started(control); };
    spec.crc32c = kernels_->crc32c;
    spec.cores_usable = cores_usable_;
    spec.ranks_on_host = connect.ranks_on_machine;
    spec.progress_thread = connect.progress_thread;
    // A thread that shares the rank's one core would only be in its way.
    if (cpu_ >= 0) {
      spec.spare_core = [cpus = spare_cpu_ < 0 ? cpus_ : std::vector<int>{spare_cpu_}] {
        (void)bind_to_cpus(cpus);
      };
    }
    if (!claim_) return fail(ErrorCode::kProtocol, "asked to connect before being set up");
    if (const auto tree = spanning_tree(setup_.size, connect.apart); !tree) {
      return fail(tree.error());
    }
    Expected<std::unique_ptr<Group>> group = claim_->open(spec);
    if (!group) return fail(group.error());
    group_ = std::move(*group);
    endpoints_ = connect.endpoints;
    executor_.emplace(*group_, *kernels_, connect.apart);
    clocks_.emplace(*group_, monotonic_ns, ClockLimits{}, connect.apart);
    Resolved used;
    add_transports(*group_, used);
    answers_.send(
        ConnectedMessage{refused_.take(), std::move(used.transport), std::move(used.fell_back)});
    return {};
  }

  // Memory that is gone after all (others took it, a limit that nobody told us) is an error like
  // any other.
  template <typename Work>
  Status with_memory(const std::string& purpose, const Work& work) const {
    try {
      return work();
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {
    }
    return fail(ErrorCode::kSystem,
                fmt::format("rank {} on {} got no memory {}", setup_.rank, setup_.host, purpose),
                "take smaller sizes or fewer ranks a host, or free memory there");
  }

  // Opened when the first cell of this group asks for it, on all ranks at once.
  Expected<Engine*> engine_of(const std::string& name) {
    std::unique_ptr<Engine>& engine = engines_[name];
    if (engine) return engine.get();
    const Expected<const EngineRow*> row = find_engine(name);
    if (!row) return fail(row.error());
    auto opened = (*row)->open({group_.get(), &*executor_, kernels_, &options_});
    if (!opened) return fail(opened.error());
    engine = std::move(*opened);
    return engine.get();
  }

  Status measure_cell(const RunMessage& run) {
    if (!executor_) return fail(ErrorCode::kProtocol, "asked to measure before being connected");
    MeasureContext context;
    context.group = group_.get();
    context.executor = &*executor_;
    context.kernels = kernels_;
    context.options = &options_;
    context.clocks = &*clocks_;
    context.host = setup_.host;
    context.endpoints = &endpoints_;
    context.interrupted = [this] { return requests_.interrupted(); };
    const Expected<Engine*> engine = engine_of(run.cell.engine);
    if (!engine) return fail(engine.error());
    context.engine = *engine;
    Expected<Measurement> measured = run_cell(run.cell, run.settings, context);
    if (!measured) return fail(measured.error());
    if (!has_own_network(run.cell.engine)) {
      add_path(*group_, row(run.cell.kind).own_connections(), measured->resolved);
    }
    for (PerRank& mine : measured->per_rank) {
      mine.cpu = cpu_;
      mine.affinity = affinity_.cpus;
      mine.numa_node = affinity_.numa_node;
      mine.memory_bytes = resident_bytes();
    }
    if (setup_.rank != 0) {
      // Rank 0 sends the samples, which are the same everywhere.
      measured->hist = {};
      measured->samples_ns.clear();
    }
    answers_.send(MeasurementMessage{std::move(*measured), refused_.take()});
    return {};
  }

  RankReplies answers_;  // before what speaks through it
  RankRequests requests_;
  const std::optional<Digest> secret_;
  ThreadMeeting* const meeting_;  // null = this rank is a process of its own
  RefusedTally refused_;          // outlives the groups
  SetupMessage setup_;
  OptionSet options_;
  std::optional<Logger> log_;
  const KernelSet* kernels_ = nullptr;
  int cores_usable_ = 1;
  std::vector<int> cpus_;  // to choose from
  int cpu_ = -1;           // that we bound it to; -1 = none
  int spare_cpu_ = -1;     // for a thread beside it; -1 = none
  Affinity affinity_;      // that it really has
  std::unique_ptr<TransportClaim> claim_;
  std::vector<RankEndpoint> endpoints_;  // of all ranks
  std::unique_ptr<Group> group_;
  std::optional<Executor> executor_;
  std::map<std::string, std::unique_ptr<Engine>> engines_;  // of this group
  std::optional<ClockSync> clocks_;
};

}  // namespace

int serve_rank(const RankLine& line) {
  std::signal(SIGPIPE, SIG_IGN);
  Rank rank(line);
  return rank.serve();
}

Status serve_rank_threads(int ranks, const RankLine& line) {
  std::signal(SIGPIPE, SIG_IGN);
  const Expected<std::unique_ptr<SharedEnd>> end = SharedEnd::open(line.from, line.to, ranks);
  if (!end) return fail(end.error());
  ThreadMeeting meeting;
  std::vector<std::thread> threads;
  for (int number = 0; number < ranks; ++number) {
    RankLine own = line;
    own.from = own.to = (*end)->rank_fd(number);
    own.meeting = &meeting;
    threads.emplace_back([&end, number, own = std::move(own)] {
      serve_rank(own);
      (*end)->leave(number);
    });
  }
  (*end)->carry();
  for (std::thread& thread : threads) thread.join();
  return {};
}

}  // namespace plumbline
