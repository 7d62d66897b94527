// A rank ends when its input ends, whatever it is doing: what is under way is given up, so that
// nothing is left behind when the coordinator dies.

#include "runs/ranks/rank_loop.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <iostream>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/links/link_measure.h"
#include "collectives/schedule.h"
#include "core/host/own_memory.h"
#include "core/units.h"
#include "launch/affinity.h"
#include "launch/line_io.h"
#include "launch/shared_wire.h"
#include "runs/ranks/protocol.h"
#include "transport/memory/memory.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

// For what a rank of the start before still holds: a stopped one goes a second after its host has
// seen that nobody asks for it any more, and later where that host is busy.
constexpr int64_t kClaimWaitMs = 4000;

// The group that this rank is in or is making, as far as the coordinator may want it ended while
// the rank's own thread waits in it. Thread-safe.
class CurrentGroup {
 public:
  // Another group is asked for: what was said before concerned the one before.
  void ask() {
    const std::scoped_lock lock(mutex_);
    control_.reset();
    given_up_.reset();
  }
  void started(const std::shared_ptr<ControlPlane>& control) {
    const std::scoped_lock lock(mutex_);
    control_ = control;
    if (given_up_) control->give_up(*given_up_);
  }
  void give_up(const Error& error) {
    const std::scoped_lock lock(mutex_);
    given_up_ = error;
    if (const auto control = control_.lock()) control->give_up(error);
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<ControlPlane> control_;
  std::optional<Error> given_up_;
};

OptionSet options_from(const std::map<std::string, OptionValue>& values) {
  OptionSet options(transport_choices());
  for (const auto& [name, value] : values) {
    if (options.text(name) == value.value && options.origin(name) == value.origin) continue;
    // The coordinator resolved them all: a value that is refused here would be another build, and
    // that the handshake tells.
    if (Expected<OptionSet> with = options.with(name, value.value, value.origin)) {
      options = std::move(*with);
    }
  }
  return options;
}

// The way back to the coordinator. Thread-safe: lines stay whole.
class Answers {
 public:
  explicit Answers(int to) : to_(to) {}
  void send(const Message& message) {
    const std::string text = encode(message) + "\n";
    const std::scoped_lock lock(mutex_);
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(to_, text.data() + done, text.size() - done);
      // The reader of requests notices the same and ends this process.
      if (n < 0 && errno != EINTR) return;
      if (n > 0) done += static_cast<size_t>(n);
    }
  }

 private:
  const int to_;
  std::mutex mutex_;
};

// Reads requests on its own thread, so that an interrupt or the end of the input is noticed during
// an operation. Until there is a group whose ranks hear one another, that thread tells the
// coordinator now and then that this one lives.
class Requests {
 public:
  Requests(const RankLine& line, Answers& answers)
      : line_(line),
        answers_(answers),
        lease_(Deadline::after_ms(line.lease_ms)),
        reader_([this] { read(); }) {}
  // Once next() has told the end.
  ~Requests() { reader_.join(); }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  CurrentGroup& group() { return group_; }

  // Nothing when it is over: then status() tells how.
  std::optional<Message> next() {
    std::unique_lock lock(mutex_);
    busy_ = false;
    arrived_.wait(lock, [&] { return !queue_.empty() || status_; });
    if (status_) return std::nullopt;
    busy_ = true;
    Message message = std::move(queue_.front());
    queue_.pop_front();
    return message;
  }
  int status() const { return status_.value_or(line_.lost_status); }
  bool interrupted() const { return interrupted_.load(std::memory_order_relaxed); }

 private:
  void read() {
    LineBuffer lines(kMaxLine);
    std::array<char, 65536> chunk;
    while (true) {
      if (!wait_for_input()) {
        return end(line_.lost_status, fmt::format("heard nothing from the coordinator for {} s",
                                                  line_.lease_ms / 1000));
      }
      const ssize_t n = ::read(line_.from, chunk.data(), chunk.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      lease_ = Deadline::after_ms(line_.lease_ms);
      lines.feed({chunk.data(), static_cast<size_t>(n)});
      while (const std::optional<std::string> line = lines.next()) {
        if (!take(*line)) return;
      }
    }
    // No coordinator any more. Sockets close with the process; peers are told by that.
    end(line_.lost_status, line_.lost_status != 0 ? "the coordinator (rank 0) has gone" : "");
  }

  // What is under way is given up, and nothing more is asked for. `why` is for a person; may be
  // empty.
  void end(int status, const std::string& why) {
    if (!why.empty()) std::cerr << "plumbline rank: " + why + "\n";
    interrupted_.store(true, std::memory_order_relaxed);
    if (line_.over) line_.over();
    const std::scoped_lock lock(mutex_);
    if (busy_) group_.give_up(Error{ErrorCode::kAborted, "the run has ended", 0, "", ""});
    status_ = status;
    arrived_.notify_one();
  }

  // Beats meanwhile, where that is wanted. False when the lease is over: a network that died says
  // nothing, and so does a coordinator behind it.
  bool wait_for_input() {
    constexpr int kLongestMs = 60'000;
    pollfd entry{line_.from, POLLIN, 0};
    while (true) {
      int wait_ms = line_.lease_ms > 0 ? lease_.poll_timeout_ms(kLongestMs) : kLongestMs;
      if (beat_ms_ > 0) wait_ms = next_beat_.poll_timeout_ms(std::min(wait_ms, beat_ms_));
      const int ready = poll(&entry, 1, wait_ms);
      if (ready > 0 || (ready < 0 && errno != EINTR)) return true;  // read() tells what is wrong
      if (line_.lease_ms > 0 && lease_.passed()) return false;
      if (beat_ms_ == 0 || !next_beat_.passed()) continue;
      next_beat_ = Deadline::after_ms(beat_ms_);
      answers_.send(AliveMessage{});
    }
  }

  // False when it was the last one.
  bool take(const std::string& line) {
    Expected<Message> message = decode(line);
    if (!message) {
      end(line_.lost_status, message.error().message());
      return false;
    }
    if (std::holds_alternative<AliveMessage>(*message)) return true;
    if (std::holds_alternative<DismissMessage>(*message)) {
      end(0, "");
      return false;
    }
    if (std::holds_alternative<InterruptMessage>(*message)) {
      interrupted_.store(true, std::memory_order_relaxed);
      return true;
    }
    if (const auto* gone = std::get_if<GiveUpMessage>(&*message)) {
      group_.give_up(gone->error);
      return true;
    }
    const auto* setup = std::get_if<SetupMessage>(&*message);
    if (setup != nullptr) group_.ask();
    if (!std::holds_alternative<ConnectMessage>(*message)) {
      beat_ms_ = setup == nullptr ? 0 : beats_of(*setup);
      next_beat_ = Deadline::after_ns(0);
    }
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(*message));
    arrived_.notify_one();
    return true;
  }

  static int beats_of(const SetupMessage& setup) {
    return static_cast<int>(options_from(setup.options).integer("heartbeat_interval_ms"));
  }

  static constexpr size_t kMaxLine = 64u << 20;  // bytes
  const RankLine line_;
  Answers& answers_;
  int beat_ms_ = 0;  // between two beats; 0 = none
  Deadline next_beat_ = Deadline::after_ns(0);
  Deadline lease_;
  CurrentGroup group_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Message> queue_;
  bool busy_ = false;          // with what next() gave
  std::optional<int> status_;  // it is over
  std::atomic<bool> interrupted_{false};
  std::thread reader_;
};

// Addresses really used, told by the lower rank of each pair.
void add_path(const Group& group, Resolved& resolved) {
  const auto streams = group.stream_stats();
  for (size_t peer = 0; peer < streams.size(); ++peer) {
    if (!streams[peer]) continue;
    resolved.congestion_control = streams[peer]->congestion_control;
    if (static_cast<int>(peer) < group.rank()) continue;
    resolved.address_pairs.push_back(std::to_string(group.rank()) + "-" + std::to_string(peer) +
                                     " " + streams[peer]->local + ">" + streams[peer]->remote);
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
            fmt::format("for {} {} of {}", cell.kind, cell.op, format_bytes(cell.bytes)),
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
    options_ = options_from(setup.options);
    LogLevel level = LogLevel::kWarn;
    log_level_from(options_.text("log_level"), level);
    log_.emplace("rank " + std::to_string(setup.rank), level);
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
    const std::vector<int> chosen = choose_cpus(options_.text("bind_to"), cpus_by_preference(),
                                                connect.ranks_on_machine, connect.cpu_offset);
    cpu_ = chosen[static_cast<size_t>(connect.slot)];
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
    if (!claim_) return fail(ErrorCode::kProtocol, "asked to connect before being set up");
    tree_.clear();
    if (!connect.apart.empty()) {
      Expected<std::vector<int>> tree = spanning_tree(setup_.size, connect.apart);
      if (!tree) return fail(tree.error());
      tree_ = std::move(*tree);
    }
    Expected<std::unique_ptr<Group>> group = claim_->open(spec);
    if (!group) return fail(group.error());
    group_ = std::move(*group);
    endpoints_ = connect.endpoints;
    executor_.emplace(*group_, *kernels_);
    clocks_.emplace(*group_);
    answers_.send(ConnectedMessage{refused_.take()});
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
    if (!tree_.empty()) context.tree = &tree_;
    context.interrupted = [this] { return requests_.interrupted(); };
    const std::string& kind = run.cell.kind;
    Expected<Measurement> measured = kind == "roof" ? measure_roof(run.cell, run.settings, context)
                                     : kind == "link"
                                         ? measure_links(run.cell, run.settings, context)
                                         : measure(run.cell, run.settings, context);
    if (!measured) return fail(measured.error());
    add_path(*group_, measured->resolved);
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

  Answers answers_;  // before what speaks through it
  Requests requests_;
  const std::optional<Digest> secret_;
  ThreadMeeting* const meeting_;  // null = this rank is a process of its own
  RefusedTally refused_;          // outlives the groups
  SetupMessage setup_;
  OptionSet options_;
  std::optional<Logger> log_;
  const KernelSet* kernels_ = nullptr;
  int cores_usable_ = 1;
  int cpu_ = -1;       // that we bound it to; -1 = none
  Affinity affinity_;  // that it really has
  std::unique_ptr<TransportClaim> claim_;
  std::vector<RankEndpoint> endpoints_;  // of all ranks
  std::vector<int> tree_;                // empty = all ranks are connected
  std::unique_ptr<Group> group_;
  std::optional<Executor> executor_;
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
