// The hidden command `rank`: one rank process, driven by its coordinator over standard input and
// output. It ends when its input ends, whatever it is doing, so that nothing is left behind when
// the coordinator dies.

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cli/commands.h"
#include "cli/protocol.h"
#include "launch/affinity.h"
#include "launch/process.h"
#include "transport/tcp.h"

namespace plumbline {
namespace {

// Reads requests on its own thread, so that an interrupt or the end of the input is noticed during
// an operation.
class Requests {
 public:
  Requests() : reader_([this] { read(); }) { reader_.detach(); }

  Message next() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return !queue_.empty(); });
    Message message = std::move(queue_.front());
    queue_.pop_front();
    return message;
  }
  bool interrupted() const { return interrupted_.load(std::memory_order_relaxed); }

 private:
  void read() {
    std::string line;
    while (std::getline(std::cin, line)) {
      Expected<Message> message = decode(line);
      if (!message) {
        std::cerr << "plumbline rank: " << message.error().message() << "\n";
        break;
      }
      if (std::holds_alternative<InterruptMessage>(*message)) {
        interrupted_.store(true, std::memory_order_relaxed);
        continue;
      }
      const std::scoped_lock lock(mutex_);
      queue_.push_back(std::move(*message));
      arrived_.notify_one();
    }
    // No coordinator any more. Sockets close with the process; peers are told by that.
    std::_Exit(0);
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Message> queue_;
  std::atomic<bool> interrupted_{false};
  std::thread reader_;
};

void answer(const Message& message) { std::cout << encode(message) << std::endl; }

OptionSet options_from(const std::map<std::string, OptionValue>& values) {
  OptionSet options;
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
  // Until the input ends. Errors of the group are answered, then the coordinator ends this process.
  [[noreturn]] void serve() {
    while (true) {
      const Message message = requests_.next();
      if (const auto* setup = std::get_if<SetupMessage>(&message)) {
        report(listen(*setup));
      } else if (const auto* connect = std::get_if<ConnectMessage>(&message)) {
        report(join(*connect));
      } else if (const auto* run = std::get_if<RunMessage>(&message)) {
        report(measure_cell(*run));
      } else {
        report(fail(ErrorCode::kProtocol, "unexpected request"));
      }
    }
  }

 private:
  static void report(const Status& status) {
    if (!status) answer(ErrorMessage{status.error()});
  }

  Status listen(const SetupMessage& setup) {
    setup_ = setup;
    // Before binding, which would leave one usable core.
    ReadyMessage ready;
    ready.facts = read_host_facts();
    if (setup.cpu >= 0) {
      if (const Status bound = bind_to_cpu(setup.cpu); !bound) return bound;
    }
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
    Expected<std::unique_ptr<TcpListener>> listener =
        TcpListener::open(setup.addresses, setup.port, options_);
    if (!listener) return fail(listener.error());
    listener_ = std::move(*listener);
    ready.endpoint = listener_->endpoint();
    ready.endpoint.rank = setup.rank;
    ready.endpoint.host = setup.host;
    ready.version = PLUMBLINE_VERSION;
    cores_usable_ = ready.facts.cores_usable;
    answer(ready);
    return {};
  }

  Status join(const ConnectMessage& connect) {
    GroupSpec spec;
    spec.rank = setup_.rank;
    spec.size = setup_.size;
    spec.id = setup_.group;
    spec.endpoints = connect.endpoints;
    spec.token = setup_.token;
    spec.options = &options_;
    spec.agreement = "plan=" + setup_.plan_hash + "\n";
    spec.log = &*log_;
    spec.crc32c = kernels_->crc32c;
    spec.cores_usable = cores_usable_;
    spec.ranks_on_host = setup_.ranks_on_machine;
    Expected<std::unique_ptr<Group>> group = open_tcp_group(spec, std::move(listener_));
    if (!group) return fail(group.error());
    group_ = std::move(*group);
    executor_.emplace(*group_, *kernels_);
    answer(ConnectedMessage{});
    return {};
  }

  Status measure_cell(const RunMessage& run) {
    if (!executor_) return fail(ErrorCode::kProtocol, "asked to measure before being connected");
    MeasureContext context;
    context.group = group_.get();
    context.executor = &*executor_;
    context.kernels = kernels_;
    context.options = &options_;
    context.host = setup_.host;
    context.interrupted = [this] { return requests_.interrupted(); };
    const bool roof = run.cell.kind == "roof";
    Expected<Measurement> measured = roof ? measure_roof(run.cell, run.settings, context)
                                          : measure(run.cell, run.settings, context);
    if (!measured) return fail(measured.error());
    add_path(*group_, measured->resolved);
    for (PerRank& mine : measured->per_rank) mine.cpu = setup_.cpu;
    if (setup_.rank != 0) {
      // Rank 0 sends the samples, which are the same everywhere.
      measured->hist = {};
      measured->samples_ns.clear();
    }
    answer(MeasurementMessage{std::move(*measured)});
    return {};
  }

  Requests requests_;
  SetupMessage setup_;
  OptionSet options_;
  std::optional<Logger> log_;
  const KernelSet* kernels_ = nullptr;
  int cores_usable_ = 1;
  std::unique_ptr<TcpListener> listener_;
  std::unique_ptr<Group> group_;
  std::optional<Executor> executor_;
};

}  // namespace

int run_rank(const Args&, Context& context) {
  if (isatty(STDIN_FILENO) != 0) {
    *context.err << "plumbline: `rank` is started by the coordinator, not by hand; "
                    "see plumbline run --help\n";
    return 1;
  }
  die_with_parent();
  std::signal(SIGPIPE, SIG_IGN);
  Rank rank;
  rank.serve();
}

}  // namespace plumbline
