#include "collectives/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "collectives/list_work.h"
#include "collectives/module_engine.h"
#include "core/text.h"

namespace plumbline {
namespace {

constexpr uint32_t kColourSeed = 0x9E3779B9;  // odd: of each colour another number
constexpr int kPoison = 0xA5;                 // what the output holds before the operation

Array allocate(const Group* group, uint64_t bytes) {
  const Expected<Array> array = group != nullptr ? group->allocate(bytes) : allocate_array(bytes);
  if (!array) throw std::bad_alloc();
  std::memset(array->data, kPoison, bytes);  // touches every page before timing
  return *array;
}

// In place, the smaller buffer is this rank's part of the larger one.
bool out_is_part_of_in(Op op) { return op == Op::kReduceScatter || op == Op::kScatter; }
bool in_is_part_of_out(Op op) { return op == Op::kAllgather || op == Op::kGather; }

// The engine `native`: schedules run by the group's executor, arrays in this process's memory.
class NativeWork : public HostWork {
 public:
  NativeWork(Executor& executor, const OperationSpec& spec, const Group& group, size_t slots,
             std::vector<Executor::PreparedPtr> prepared)
      : HostWork(spec, group, slots), executor_(executor), prepared_(std::move(prepared)) {}

  Status start(size_t lane, size_t slot) override {
    return executor_.start(*prepared_[lane], in(slot), out(slot), residual(slot));
  }
  Expected<bool> poll(size_t lane) override {
    if (Executor::done(*prepared_[lane])) return true;
    if (const Expected<bool> moved = executor_.progress(); !moved) return fail(moved.error());
    return Executor::done(*prepared_[lane]);
  }
  Status wait(size_t lane, Deadline deadline) override {
    return executor_.wait(*prepared_[lane], deadline);
  }
  Status run(size_t slot, Deadline deadline) override {
    return executor_.run(*prepared_.front(), in(slot), out(slot), deadline, residual(slot));
  }

  bool time_parts(TimeParts* into) override {
    for (const Executor::PreparedPtr& prepared : prepared_) Executor::time_parts(*prepared, into);
    return true;
  }
  std::string algorithm() const override { return Executor::algorithm_of(*prepared_.front()); }
  uint64_t sent_bytes() const override { return Executor::cost_of(*prepared_.front()).send_bytes; }

 private:
  Executor& executor_;
  std::vector<Executor::PreparedPtr> prepared_;  // one a lane
};

class NativeEngine : public Engine {
 public:
  explicit NativeEngine(const EngineContext& context) : context_(context) {}

  Expected<std::unique_ptr<EngineWork>> prepare(const OperationSpec& spec, size_t slots,
                                                size_t lanes) override {
    if (spec.arrays > 1) return prepare_list(context_, spec, slots, lanes);
    std::vector<Executor::PreparedPtr> prepared;
    for (size_t lane = 0; lane < lanes; ++lane) {
      Expected<Executor::PreparedPtr> one = context_.executor->prepare(spec);
      if (!one) return fail(one.error());
      prepared.push_back(std::move(*one));
    }
    return std::make_unique<NativeWork>(*context_.executor, spec, *context_.group, slots,
                                        std::move(prepared));
  }

  void describe(Resolved& resolved) const override {
    resolved.transport = context_.group->transport_name();
    resolved.kernel = context_.kernels->target;
    resolved.chunk_bytes = context_.group->channel_options().chunk_bytes;
  }

  EngineTraffic traffic() const override {
    const ChannelStats moved = context_.group->stats();
    const WaitStats& waited = context_.group->wait_stats();
    const auto stalls = [&](Stall stall) { return waited.stalls[static_cast<size_t>(stall)]; };
    RankCounters counters;
    counters.received_bytes = moved.wire_received;
    counters.poll_calls = waited.polls;
    counters.yield_calls = waited.yields;
    counters.in_place_bytes = moved.in_place_bytes;
    counters.copied_bytes = moved.copied_bytes;
    counters.peer_late_stalls = stalls(Stall::kPeerLate);
    counters.receiving_stalls = stalls(Stall::kReceiving);
    counters.send_full_stalls = stalls(Stall::kSendFull);
    counters.park_full_stalls = stalls(Stall::kParkFull);
    EngineTraffic traffic{moved.wire_sent, 0, {}};
    for (const auto& stats : context_.group->stream_stats()) {
      if (!stats) continue;
      traffic.retransmits += stats->retransmits.value_or(0);
      counters.write_calls += stats->writes;
      counters.read_calls += stats->reads;
    }
    traffic.counters = counters;
    return traffic;
  }

 private:
  const EngineContext context_;
};

std::string always_available() { return {}; }
// Which algorithm can do what is said by the table of algorithms.
std::string does_every_cell(const Cell& /*cell*/) { return {}; }

constexpr char kGloo[] = "gloo", kOpenMpi[] = "openmpi", kMpich[] = "mpich";

template <const char* Name>
constexpr EngineRow module_row(const char* help, bool threads) {
  return {Name,
          help,
          [] { return module_unavailable(Name); },
          [](const Cell& cell) { return module_unsupported(Name, cell); },
          [](const EngineContext& context) { return open_module_engine(Name, context); },
          true,
          threads};
}

// The one table of engines.
constexpr EngineRow kEngines[] = {
    {kNativeEngine, "plumbline's own schedules over its transports", always_available,
     does_every_cell, open_native_engine},
    module_row<kGloo>("gloo's collectives over TCP", true),
    module_row<kOpenMpi>("Open MPI's nonblocking collectives, under its own mpirun", false),
    module_row<kMpich>("MPICH's nonblocking collectives", false),
};

}  // namespace

HostWork::HostWork(const OperationSpec& spec, const Group& group, size_t slots)
    : operand_(spec, seat_of(spec, group).rank, seat_of(spec, group).size, slots, &group),
      colour_(static_cast<uint32_t>(colour_of(spec.split, group.rank())) * kColourSeed) {}

Operand::Operand(const OperationSpec& spec, int rank, int size, size_t slots, const Group* group)
    : spec_(spec), rank_(rank), size_(size) {
  const uint64_t width = size_of(spec.dtype);
  const uint64_t parts = row(spec.op).per_rank_share ? static_cast<uint64_t>(size) : 1;
  shape_ = shape_of(spec.op, spec.dtype, size, spec.count * width * parts);
  // One rank has nobody to send to.
  if (spec.codec && size > 1) {
    compressed_ = std::make_unique<CompressedData>(spec.codec, spec.redop, size);
  }
  for (size_t i = 0; i < slots; ++i) {
    Slot slot;
    if (!spec.in_place || out_is_part_of_in(spec.op)) {
      slot.in = allocate(group, shape_.in_elems * width);
    }
    if (!spec.in_place || !out_is_part_of_in(spec.op)) {
      slot.out = allocate(group, shape_.out_elems * width);
    }
    if (compressed_ && spec.codec.sparse()) slot.residual.resize(spec.count);
    slots_.push_back(std::move(slot));
  }
}

const void* Operand::in(size_t slot) const {
  const Slot& s = slots_[slot];
  if (s.in.data != nullptr) return s.in.data;
  const uint64_t offset =
      in_is_part_of_out(spec_.op) ? spec_.count * static_cast<uint64_t>(rank_) : 0;
  return s.out.data + offset * size_of(spec_.dtype);
}

void* Operand::out(size_t slot) const {
  const Slot& s = slots_[slot];
  if (s.out.data != nullptr) return s.out.data;
  return s.in.data + spec_.count * static_cast<uint64_t>(rank_) * size_of(spec_.dtype);
}

const Pattern& Operand::pattern(uint32_t seed) const {
  const auto found = std::find_if(patterns_.begin(), patterns_.end(),
                                  [&](const auto& entry) { return entry.first == seed; });
  if (found != patterns_.end()) return *found->second;
  if (patterns_.size() == kPatternsKept) patterns_.erase(patterns_.begin());
  patterns_.emplace_back(seed, std::make_unique<Pattern>(spec_.dtype, spec_.redop, size_, seed));
  return *patterns_.back().second;
}

void Operand::fill(size_t slot, uint32_t seed) {
  if (shape_.bytes == 0) return;
  const size_t width = size_of(spec_.dtype);
  if (slots_[slot].out.data != nullptr) std::memset(out(slot), kPoison, shape_.out_elems * width);
  auto* const input = const_cast<void*>(in(slot));
  if (compressed_) {
    CompressedData::fill(pattern(seed), rank_, static_cast<float*>(input), spec_.count);
    std::fill(slots_[slot].residual.begin(), slots_[slot].residual.end(), 0.0F);
  } else {
    pattern(seed).fill(input, rank_, 0, shape_.in_elems);
  }
}

std::optional<ResultError> Operand::error() const {
  return compressed_ ? std::optional(compressed_->error()) : std::nullopt;
}

uint64_t Operand::count_wrong(size_t slot, uint32_t seed) const {
  if (shape_.bytes == 0) return 0;
  const Pattern& p = pattern(seed);
  const uint64_t count = spec_.count;
  if (compressed_) {
    return compressed_->count_wrong(p, static_cast<const float*>(out(slot)), count);
  }
  const auto mine = static_cast<uint64_t>(rank_);
  const auto* out_bytes = static_cast<const std::byte*>(out(slot));
  const size_t width = size_of(spec_.dtype);
  const auto copy = [&](uint64_t at, int from, uint64_t first) {
    return p.count_wrong_copy(out_bytes + at * width, from, first, count);
  };
  uint64_t wrong = 0;
  switch (spec_.op) {
    case Op::kAllreduce:
      return p.count_wrong_reduced(out_bytes, 0, count);
    case Op::kReduce:
      return rank_ == spec_.root ? p.count_wrong_reduced(out_bytes, 0, count) : 0;
    case Op::kReduceScatter:
      return p.count_wrong_reduced(out_bytes, mine * count, count);
    case Op::kBroadcast:
      return copy(0, spec_.root, 0);
    case Op::kScatter:
      return copy(0, spec_.root, mine * count);
    case Op::kGather:
      if (rank_ != spec_.root) return 0;
      [[fallthrough]];
    case Op::kAllgather:
      for (int from = 0; from < size_; ++from) {
        wrong += copy(static_cast<uint64_t>(from) * count, from, 0);
      }
      return wrong;
    case Op::kAlltoall:
      for (int from = 0; from < size_; ++from) {
        wrong += copy(static_cast<uint64_t>(from) * count, from, mine * count);
      }
      return wrong;
    case Op::kPingpong:
      return rank_ <= 1 ? copy(0, 0, 0) : 0;  // rank 1 echoes what it got
    case Op::kStream:
      return rank_ == 1 ? copy(0, 0, 0) : 0;
    case Op::kBidirectional:
      return rank_ <= 1 ? copy(0, 1 - rank_, 0) : 0;
    case Op::kSendrecv:
      return copy(0, (rank_ + size_ - 1) % size_, 0);
    case Op::kBarrier:
      break;
  }
  return 0;
}

Expected<std::unique_ptr<Engine>> open_native_engine(const EngineContext& context) {
  return std::make_unique<NativeEngine>(context);
}

std::span<const EngineRow> engine_table() { return kEngines; }

Expected<const EngineRow*> find_engine(std::string_view name) {
  return find_engine(kEngines, name);
}

Expected<const EngineRow*> find_engine(std::span<const EngineRow> table, std::string_view name) {
  std::vector<std::string> names;
  for (const EngineRow& row : table) {
    names.emplace_back(row.name);
    if (name != row.name) continue;
    const std::string reason = row.unavailable();
    if (reason.empty()) return &row;
    return fail(ErrorCode::kUnsupported, fmt::format("engine {}: {}", name, reason),
                fmt::format("use the engine {}", kNativeEngine));
  }
  const std::string wrong(name);
  return fail(ErrorCode::kUsage, fmt::format("there is no engine {}", in_quotes(wrong)),
              hint_for(wrong, names));
}

std::string engine_unsupported(const Cell& cell, bool ranks_in_process) {
  for (const EngineRow& row : kEngines) {
    if (cell.engine != row.name) continue;
    const std::string reason = row.unavailable();
    if (!reason.empty()) return reason;
    if (ranks_in_process && !row.threads) {
      return "its ranks cannot be threads of one process: leave out --ranks-in-process";
    }
    if (row.own_network && cell.transport != "auto") {
      return fmt::format("it has a network of its own: leave the transport to auto, not {}",
                         cell.transport);
    }
    return row.unsupported(cell);
  }
  return {};
}

bool has_own_network(std::string_view engine) {
  return std::any_of(std::begin(kEngines), std::end(kEngines), [engine](const EngineRow& row) {
    return row.own_network && engine == row.name;
  });
}

}  // namespace plumbline
