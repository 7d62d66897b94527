// The module of the engine `gloo`: the collectives of https://github.com/facebookincubator/gloo
// over unbound buffers, on TCP connections of its own between the ranks' data addresses. They meet
// through our group, which takes the place of gloo's store. Its calls wait, each with gloo's own
// timeout; when our group fails meanwhile, its sockets are shut down under it, so that it does not
// wait on: closed by gloo itself, they would leave its own waits asleep.

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/types.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "collectives/engine_module.h"
#include "collectives/engines/own_sockets.h"
#include "core/fd.h"

namespace plumbline {
namespace {

using World = std::shared_ptr<gloo::Context>;
using Milliseconds = std::chrono::milliseconds;
using Reduction = void (*)(void*, const void*, const void*, size_t);

constexpr Milliseconds kLook{20};

// What an exception of gloo says, on one line.
std::string words_of(const std::exception& error) {
  std::string text = error.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return "gloo says: " + text;
}

// gloo takes whole milliseconds, and none as forever.
Milliseconds time_until(Deadline deadline) {
  const auto left = Milliseconds(deadline.remaining_ns() / kMillisecond);
  return std::max(left, Milliseconds(1));
}

template <typename T>
Reduction reduction_of(RedOp redop) {
  switch (redop) {
    case RedOp::kSum:
      return gloo::sum<T>;
    case RedOp::kMin:
      return gloo::min<T>;
    case RedOp::kMax:
      return gloo::max<T>;
    case RedOp::kProduct:
      return gloo::product<T>;
    case RedOp::kAvg:
      break;
  }
  return nullptr;
}

// What ranks write into a store is what they gather over our group: all of them set as many keys,
// in the same order, before they ask for those of the others.
class GroupStore : public gloo::rendezvous::Store {
 public:
  explicit GroupStore(ModuleHost& host) : host_(host) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    const auto all = host_.gather(key + kEnd + std::string(data.begin(), data.end()));
    if (!all) throw std::runtime_error(all.error().what);
    for (const std::string& told : *all) {
      const size_t end = std::min(told.find(kEnd), told.size() - 1);
      known_[told.substr(0, end)] = told.substr(end + 1);
    }
  }
  std::vector<char> get(const std::string& key) override {
    const std::string& data = known_.at(key);
    return {data.begin(), data.end()};
  }
  void wait(const std::vector<std::string>& /*keys*/) override {}

 private:
  static constexpr char kEnd = '\n';  // of a key
  ModuleHost& host_;
  std::map<std::string, std::string> known_;
};

// One element type of one shape.
template <typename T>
class GlooWork : public ModuleWork {
 public:
  GlooWork(World world, const ModuleOperation& operation)
      : world_(std::move(world)),
        q_(operation),
        root_(q_.root == world_->rank),
        whole_(q_.count * static_cast<size_t>(world_->size)) {}

  Status start(const void* in, void* out) override {
    in_ = static_cast<T*>(const_cast<void*>(in));  // gloo only reads it
    out_ = static_cast<T*>(out);
    pending_ = true;
    return {};
  }

  Expected<bool> poll(Deadline deadline) override {
    if (!std::exchange(pending_, false)) return true;
    try {
      timeout_ = time_until(deadline);
      run();
      return true;
    } catch (const std::exception& error) {
      const ErrorCode code = deadline.passed() ? ErrorCode::kTimeout : ErrorCode::kPeerLost;
      return fail(code, words_of(error));
    }
  }

  std::string algorithm() const override { return q_.op == Op::kAllreduce ? "gloo-ring" : "gloo"; }

 private:
  template <typename Options>
  Options with_times() const {
    Options options(world_);
    options.setTimeout(timeout_);
    return options;
  }

  void run() {
    switch (q_.op) {
      case Op::kAllreduce:
        return allreduce();
      case Op::kReduce:
        return reduce();
      case Op::kBroadcast:
        return broadcast();
      case Op::kAllgather:
        return allgather();
      case Op::kGather:
        return gather();
      case Op::kScatter:
        return scatter();
      case Op::kAlltoall:
        return alltoall();
      case Op::kPingpong:
        return there_and_back(q_.count);
      case Op::kStream:
        return there_and_back(0);
      case Op::kBidirectional:
        return world_->rank > 1 ? void() : swap(1 - world_->rank, 1 - world_->rank);
      case Op::kSendrecv:
        return swap((world_->rank + 1) % world_->size,
                    (world_->rank + world_->size - 1) % world_->size);
      default:
        return barrier();
    }
  }

  void allreduce() {
    auto options = with_times<gloo::AllreduceOptions>();
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    if (!q_.in_place) options.setInput(in_, q_.count);
    options.setOutput(out_, q_.count);
    options.setReduceFunction(reduction_of<T>(q_.redop));
    gloo::allreduce(options);
  }
  void reduce() {
    auto options = with_times<gloo::ReduceOptions>();
    options.setRoot(q_.root);
    if (!q_.in_place) options.setInput(in_, q_.count);
    options.setOutput(out_, q_.count);
    options.setReduceFunction(reduction_of<T>(q_.redop));
    gloo::reduce(options);
  }
  void broadcast() {
    auto options = with_times<gloo::BroadcastOptions>();
    options.setRoot(q_.root);
    if (root_ && !q_.in_place) options.setInput(in_, q_.count);
    options.setOutput(out_, q_.count);
    gloo::broadcast(options);
  }
  void allgather() {
    auto options = with_times<gloo::AllgatherOptions>();
    if (!q_.in_place) options.setInput(in_, q_.count);
    options.setOutput(out_, whole_);
    gloo::allgather(options);
  }
  void gather() {
    auto options = with_times<gloo::GatherOptions>();
    options.setRoot(q_.root);
    options.setInput(in_, q_.count);
    if (root_) options.setOutput(out_, whole_);
    gloo::gather(options);
  }
  void scatter() {
    auto options = with_times<gloo::ScatterOptions>();
    options.setRoot(q_.root);
    std::vector<T*> parts;
    for (int r = 0; r < world_->size; ++r) parts.push_back(in_ + static_cast<size_t>(r) * q_.count);
    if (root_) options.setInputs(parts, q_.count);
    options.setOutput(out_, q_.count);
    gloo::scatter(options);
  }
  void alltoall() {
    auto options = with_times<gloo::AlltoallOptions>();
    options.setInput(in_, whole_);
    options.setOutput(out_, whole_);
    gloo::alltoall(options);
  }
  void barrier() {
    auto options = with_times<gloo::BarrierOptions>();
    gloo::barrier(options);
  }

  static constexpr uint64_t kSlot = 1;
  size_t bytes() const { return q_.count * sizeof(T); }
  auto buffer(T* data) const { return world_->createUnboundBuffer(data, bytes()); }

  void swap(int to, int from) {
    const auto out = buffer(out_), in = buffer(in_);
    out->recv(from, kSlot);
    in->send(to, kSlot);
    in->waitSend(timeout_);
    out->waitRecv(timeout_);
  }
  // Rank 0 to 1, answered by so many elements.
  void there_and_back(uint64_t answer) {
    if (world_->rank > 1) return;
    const bool first = world_->rank == 0;
    const auto out = buffer(out_), in = buffer(first ? in_ : out_);
    const size_t back = answer * sizeof(T);
    const auto send = [&](size_t size) {
      in->send(1 - world_->rank, kSlot, 0, size);
      in->waitSend(timeout_);
    };
    const auto receive = [&](size_t size) {
      out->recv(1 - world_->rank, kSlot, 0, size);
      out->waitRecv(timeout_);
    };
    if (first) send(bytes());
    receive(first ? back : bytes());
    if (!first) send(back);
  }

  const World world_;
  const ModuleOperation q_;
  const bool root_;
  const size_t whole_;
  T* in_ = nullptr;
  T* out_ = nullptr;
  bool pending_ = false;
  Milliseconds timeout_{1};
};

// The sockets of all pairs. Collective, and a meeting: nobody leaves again before all have come,
// which gloo would take for a failure. Each rank tells the address of its end of every pair.
Expected<std::vector<Fd>> sockets_of(gloo::Context& world, ModuleHost& host) {
  std::set<std::string> locals, remotes;
  std::string mine;
  for (int peer = 0; peer < world.size; ++peer) {
    if (peer != world.rank) {
      const std::string address = world.getPair(peer)->address().str();
      locals.insert(address);
      mine += address;
    }
    mine += '\n';
  }
  const auto all = host.gather(mine);
  if (!all) return fail(all.error());
  for (const std::string& told : *all) {
    std::istringstream lines(told);
    std::string line;
    for (int peer = 0; peer <= world.rank; ++peer) std::getline(lines, line);
    remotes.insert(line);
  }
  return own_sockets(locals, remotes);
}

class GlooEngine : public ModuleEngine {
 public:
  GlooEngine(ModuleHost& host, World world, std::vector<Fd> sockets)
      : sockets_(std::move(sockets)),
        world_(std::move(world)),
        watcher_([this, &host] { watch(host); }) {}
  ~GlooEngine() override {
    over_ = true;
    watcher_.join();
    if (broken_) shut_down();  // gloo would wait for ranks that are gone
  }
  GlooEngine(const GlooEngine&) = delete;
  GlooEngine& operator=(const GlooEngine&) = delete;

  Expected<std::unique_ptr<ModuleWork>> prepare(const ModuleOperation& operation) override {
    switch (operation.dtype) {
      case DType::kF32:
        return made<float>(operation);
      case DType::kF64:
        return made<double>(operation);
      case DType::kF16:
        return made<gloo::float16>(operation);
      case DType::kI32:
        return made<int32_t>(operation);
      case DType::kI64:
        return made<int64_t>(operation);
      case DType::kU8:
        return made<uint8_t>(operation);
      case DType::kBool: {
        ModuleOperation on_bytes = operation;
        on_bytes.redop = redop_on_truth(operation.redop);
        return made<uint8_t>(on_bytes);
      }
      case DType::kBf16:
        break;
    }
    return fail(ErrorCode::kUnsupported, "gloo has no such element type");
  }
  std::string library() const override {
    return "gloo " + std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) +
           "." + std::to_string(GLOO_VERSION_PATCH);
  }
  std::string transport() const override { return "tcp"; }
  void broken() override { broken_ = true; }

 private:
  template <typename T>
  std::unique_ptr<ModuleWork> made(const ModuleOperation& operation) const {
    return std::make_unique<GlooWork<T>>(world_, operation);
  }

  void watch(const ModuleHost& host) {
    while (!over_ && !host.failed()) std::this_thread::sleep_for(kLook);
    if (!over_) shut_down();
  }
  void shut_down() const {
    for (const Fd& socket : sockets_) shutdown(socket.get(), SHUT_RDWR);
  }

  const std::vector<Fd> sockets_;
  const World world_;
  std::atomic<bool> over_{false}, broken_{false};
  std::thread watcher_;  // last
};

class GlooModule : public EngineModule {
 public:
  std::string unavailable() const override { return {}; }
  bool waits() const override { return true; }

  std::string unsupported(const ModuleOperation& operation, int ranks) const override {
    if (operation.op == Op::kReduceScatter) {
      return "gloo binds a reduce_scatter to one array for good, and has none for any";
    }
    if (operation.op == Op::kSendrecv && ranks == 1) return "a rank of gloo sends itself nothing";
    if (operation.dtype == DType::kBf16) return "gloo has no bf16";
    const bool reduces = operation.op == Op::kAllreduce || operation.op == Op::kReduce;
    if (reduces && operation.redop == RedOp::kAvg) return "gloo has no average";
    if (operation.count == 0 && operation.op != Op::kBarrier) return "gloo moves no empty arrays";
    return {};
  }

  Expected<std::unique_ptr<ModuleEngine>> open(ModuleHost& host, Deadline deadline) override {
    try {
      gloo::transport::tcp::attr attr;
      attr.hostname = host.address();
      auto device = gloo::transport::tcp::CreateDevice(attr);
      auto context = std::make_shared<gloo::rendezvous::Context>(host.rank(), host.size());
      context->setTimeout(time_until(deadline));
      GroupStore store(host);
      context->connectFullMesh(store, device);
      auto sockets = sockets_of(*context, host);
      if (!sockets) return fail(sockets.error());
      return std::make_unique<GlooEngine>(host, context, std::move(*sockets));
    } catch (const std::exception& error) {
      return fail(ErrorCode::kPeerLost, "meeting the others over TCP: " + words_of(error),
                  "gloo needs one address of each rank that all others reach");
    }
  }
};

}  // namespace
}  // namespace plumbline

uint32_t plumbline_engine_module_version() { return plumbline::kEngineModuleVersion; }

plumbline::EngineModule* plumbline_engine_module() {
  static plumbline::GlooModule module;
  return &module;
}
