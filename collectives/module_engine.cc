#include "collectives/module_engine.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>

#include "collectives/module_loader.h"
#include "core/host/ip.h"

namespace plumbline {
namespace {

// After a failure of the library: how long our own control plane may take to name who is gone. A
// stopped rank is given up after the watchdog and one heartbeat, the library's wait ends with the
// watchdog.
constexpr int64_t kLeastBlameMs = 500;
constexpr int64_t kBlameBeats = 2;
constexpr int64_t kLookMs = 5;

// The group as a module may use it.
class GroupHost : public ModuleHost {
 public:
  explicit GroupHost(const EngineContext& context) : context_(context) {}

  int rank() const override { return context_.group->rank(); }
  int size() const override { return context_.group->size(); }
  bool failed() const override { return context_.group->control().failed(); }

  // That of the data connections, where these have one.
  std::string address() const override {
    for (const auto& stats : context_.group->stream_stats()) {
      if (!stats) continue;
      const size_t port = stats->local.rfind(':');
      std::string address = stats->local.substr(0, port);
      std::erase_if(address, [](char c) { return c == '[' || c == ']'; });
      if (parse_ip(address)) return address;  // ranks of one process have none
    }
    return "127.0.0.1";
  }

  // The longest text first, then all of them at that length, each behind its own.
  Expected<std::vector<std::string>> gather(const std::string& mine) override {
    if (mine.size() > kLongestText) return fail(ErrorCode::kProtocol, "a text that is too long");
    const uint64_t own = mine.size();
    std::vector<uint64_t> lengths(ranks());
    if (const Status done = gather_bytes(&own, sizeof own, lengths.data()); !done) {
      return fail(done.error());
    }
    const uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
    if (longest > kLongestText) return fail(ErrorCode::kProtocol, "a text that is too long");
    std::string padded = mine;
    padded.resize(longest);
    std::string all(longest * ranks(), '\0');
    if (longest > 0) {
      const Status done = gather_bytes(padded.data(), longest, all.data());
      if (!done) return fail(done.error());
    }
    std::vector<std::string> texts;
    for (size_t rank = 0; rank < ranks(); ++rank) {
      texts.push_back(all.substr(rank * longest, lengths[rank]));
    }
    return texts;
  }

 private:
  size_t ranks() const { return static_cast<size_t>(size()); }
  Status gather_bytes(const void* mine, uint64_t bytes, void* all) {
    OperationSpec spec;
    spec.op = Op::kAllgather;
    spec.dtype = DType::kU8;
    spec.count = bytes;
    const auto prepared = context_.executor->prepare(spec);
    if (!prepared) return fail(prepared.error());
    return context_.executor->run(
        **prepared, mine, all, Deadline::after_ms(context_.options->integer("connect_timeout_ms")));
  }
  const EngineContext context_;
};

class ModuleHostWork : public HostWork {
 public:
  ModuleHostWork(const EngineContext& context, std::string engine, const OperationSpec& spec,
                 size_t slots, ModuleEngine& library,
                 std::vector<std::unique_ptr<ModuleWork>> lanes)
      : HostWork(spec, *context.group, slots),
        context_(context),
        doing_(fmt::format("engine {}: {}", engine,
                           spec.text(context.group->size(), lanes.front()->algorithm().c_str()))),
        library_(library),
        lanes_(std::move(lanes)),
        yield_(context.group->wait_options().yield) {}

  Status start(size_t lane, size_t slot) override {
    const Status started = lanes_[lane]->start(in(slot), out(slot));
    return started ? started : Status(fail(explained(started.error())));
  }

  Expected<bool> poll(size_t lane) override {
    const int64_t watchdog_ms = context_.options->integer("watchdog_timeout_ms");
    return go_on(lane, Deadline::after_ms(watchdog_ms));
  }

  Status wait(size_t lane, Deadline deadline) override {
    while (true) {
      const Expected<bool> done = go_on(lane, deadline);
      if (!done) return fail(done.error());
      if (*done) return {};
      if (deadline.passed()) {
        return fail(explained({ErrorCode::kTimeout, "it did not end in time", 0, "", ""}));
      }
      if (yield_) sched_yield();
    }
  }

  std::string algorithm() const override { return lanes_.front()->algorithm(); }
  uint64_t sent_bytes() const override { return 0; }

 private:
  Expected<bool> go_on(size_t lane, Deadline deadline) {
    if (context_.group->control().failed()) return fail(explained({}));
    Expected<bool> done = lanes_[lane]->poll(deadline);
    if (!done) return fail(explained(done.error()));
    return done;
  }

  // What the library knows is that bytes do not come; our own control plane knows why. All ranks
  // are told.
  Error explained(Error error) {
    library_.broken();
    ControlPlane& control = context_.group->control();
    const int64_t beats = kBlameBeats * context_.options->integer("heartbeat_interval_ms");
    const Deadline deadline = Deadline::after_ms(std::max(kLeastBlameMs, beats));
    while (!control.failed() && !deadline.passed()) {
      const timespec look{0, kLookMs * kMillisecond};
      nanosleep(&look, nullptr);
    }
    if (control.failed()) {
      Error known = control.failure();
      if (known.what.find(doing_) == std::string::npos) known.what += " (" + doing_ + ")";
      return known;
    }
    error.what = fmt::format("rank {}, {}: {}", context_.group->rank(), doing_, error.what);
    control.abort(error);
    return error;
  }

  const EngineContext context_;
  const std::string doing_;
  ModuleEngine& library_;
  std::vector<std::unique_ptr<ModuleWork>> lanes_;
  const bool yield_;
};

ModuleOperation operation_from(const OperationSpec& spec) {
  return {spec.op,    spec.dtype,          spec.redop,   spec.root,
          spec.count, size_of(spec.dtype), spec.in_place};
}

class ModuleHostEngine : public Engine {
 public:
  ModuleHostEngine(const EngineContext& context, std::string name, std::unique_ptr<GroupHost> host,
                   std::unique_ptr<ModuleEngine> library)
      : context_(context),
        name_(std::move(name)),
        host_(std::move(host)),
        library_(std::move(library)) {}

  Expected<std::unique_ptr<EngineWork>> prepare(const OperationSpec& spec, size_t slots,
                                                size_t lanes) override {
    std::vector<std::unique_ptr<ModuleWork>> works;
    for (size_t lane = 0; lane < lanes; ++lane) {
      Expected<std::unique_ptr<ModuleWork>> work = library_->prepare(operation_from(spec));
      if (!work) return fail(work.error());
      works.push_back(std::move(*work));
    }
    return std::make_unique<ModuleHostWork>(context_, name_, spec, slots, *library_,
                                            std::move(works));
  }

  void describe(Resolved& resolved) const override {
    resolved.transport = library_->transport();
    resolved.library = library_->library();
  }
  // Nobody counts it.
  EngineTraffic traffic() const override { return {}; }

 private:
  const EngineContext context_;
  const std::string name_;
  std::unique_ptr<GroupHost> host_;
  std::unique_ptr<ModuleEngine> library_;
};

}  // namespace

std::string module_unavailable(const std::string& engine) {
  const Expected<EngineModule*> module = load_module(engine);
  if (!module) return module.error().message();
  return (*module)->unavailable();
}

std::string module_unsupported(const std::string& engine, const Cell& cell) {
  const Expected<EngineModule*> module = load_module(engine);
  return module ? module_unsupported(**module, cell) : module.error().message();
}

std::string module_unsupported(const EngineModule& module, const Cell& cell) {
  const auto op = op_from(cell.op);
  const auto dtype = dtype_from(cell.dtype);
  if (!op || !dtype) return {};  // said elsewhere
  if (cell.algorithm != "auto") return "it chooses its algorithm itself: leave that to auto";
  if (module.waits() && cell.outstanding > 1) {
    return "it runs one operation after the other: take outstanding 1";
  }
  ModuleOperation operation;
  operation.op = *op;
  operation.dtype = *dtype;
  operation.redop = redop_from(cell.redop).value_or(RedOp::kSum);
  operation.root = std::max(cell.root, 0);
  operation.count = cell.count;
  operation.width = size_of(*dtype);
  operation.in_place = cell.placement == "in" && row(*op).has_in_place;
  return module.unsupported(operation, cell.ranks);
}

Expected<std::unique_ptr<Engine>> open_module_engine(const std::string& engine,
                                                     const EngineContext& context) {
  const Expected<EngineModule*> module = load_module(engine);
  if (!module) return fail(module.error());
  return open_module_engine(engine, **module, context);
}

Expected<std::unique_ptr<Engine>> open_module_engine(const std::string& engine,
                                                     EngineModule& module,
                                                     const EngineContext& context) {
  auto host = std::make_unique<GroupHost>(context);
  const KeptSignals kept;
  auto library =
      module.open(*host, Deadline::after_ms(context.options->integer("connect_timeout_ms")));
  if (!library) {
    // The others wait for this rank in there.
    Error error = library.error();
    ControlPlane& control = context.group->control();
    if (control.failed()) return fail(control.failure());
    error.what = fmt::format("rank {}, engine {}: {}", context.group->rank(), engine, error.what);
    control.abort(error);
    return fail(std::move(error));
  }
  return std::make_unique<ModuleHostEngine>(context, engine, std::move(host), std::move(*library));
}

}  // namespace plumbline
