#include "collectives/list_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/communicator_list.h"
#include "collectives/time_parts.h"
#include "core/clock.h"
#include "core/op.h"
#include "core/units.h"

namespace plumbline {
namespace {

// One operation of the list, ready to run in one lane.
struct PreparedPart {
  ListPart what;
  Array space;  // where it is packed; goes after what may still send it
  Executor::PreparedPtr prepared;
};

class ListWork : public HostWork {
 public:
  struct Lane {
    std::vector<PreparedPart> parts;
    size_t slot = 0;
    size_t ended = 0;                       // of `parts`, from the front
    int64_t started_ns = 0, oldest_ns = 0;  // as those of a prepared operation
  };

  ListWork(const EngineContext& context, const OperationSpec& spec, size_t slots,
           std::vector<Buffer> arrays, std::vector<Lane> lanes)
      : HostWork(spec, *context.group, slots),
        executor_(*context.executor),
        arrays_(std::move(arrays)),
        lanes_(std::move(lanes)) {
    uint64_t end = 0;
    for (const Buffer& array : arrays_) {
      begins_.push_back(end);
      end += array.count * size_of(spec.dtype);
    }
    under_way_.reserve(lanes_.size());
  }

  Status start(size_t lane, size_t slot) override {
    Lane& l = lanes_[lane];
    l.slot = slot;
    l.ended = 0;
    if (into_ != nullptr) begin_times(l);
    for (PreparedPart& part : l.parts) {
      const Status started = start(part, slot);
      if (!started) return started;
    }
    return {};
  }

  Expected<bool> poll(size_t lane) override {
    Lane& l = lanes_[lane];
    bool moved = false;
    while (l.ended < l.parts.size()) {
      const Executor::Prepared& prepared = *l.parts[l.ended].prepared;
      if (!Executor::done(prepared) && !std::exchange(moved, true)) {
        if (const Expected<bool> round = executor_.progress(); !round) return fail(round.error());
      }
      if (!Executor::done(prepared)) return false;
      end_part(l);
    }
    return true;
  }

  // The executor times each part; which list was served and which waited is told here, since parts
  // of one do not wait for one another.
  bool time_parts(TimeParts* into) override {
    into_ = into;
    of_parts_ = {};
    for (Lane& lane : lanes_) {
      for (PreparedPart& part : lane.parts) {
        Executor::time_parts(*part.prepared, into == nullptr ? nullptr : &of_parts_);
      }
    }
    return true;
  }

  Status wait(size_t lane, Deadline deadline) override {
    Lane& l = lanes_[lane];
    while (l.ended < l.parts.size()) {
      const Status done = executor_.wait(*l.parts[l.ended].prepared, deadline);
      if (!done) return done;
      end_part(l);
    }
    return {};
  }

  // Parts of different sizes may have chosen differently.
  std::string algorithm() const override {
    std::vector<std::string> names;
    for (const PreparedPart& part : lanes_.front().parts) {
      std::string name = Executor::algorithm_of(*part.prepared);
      const bool told = std::find(names.begin(), names.end(), name) != names.end();
      if (!told) names.push_back(std::move(name));
    }
    return fmt::format("{}", fmt::join(names, "+"));
  }

  uint64_t sent_bytes() const override {
    uint64_t sum = 0;
    for (const PreparedPart& part : lanes_.front().parts) {
      sum += Executor::cost_of(*part.prepared).send_bytes;
    }
    return sum;
  }

 private:
  // The list with the arrays of this part where they are in `slot`: the others are not looked at.
  std::span<const Buffer> placed(const ListPart& part, const void* slot) {
    auto* const first = static_cast<std::byte*>(const_cast<void*>(slot));
    for (const size_t i : part.arrays) arrays_[i].data = first + begins_[i];
    return arrays_;
  }

  Status start(PreparedPart& part, size_t slot) {
    if (part.what.packed()) {
      copied([&] { pack(placed(part.what, in(slot)), part.what, part.space.data); });
      return executor_.start(*part.prepared, part.space.data, part.space.data);
    }
    const uint64_t begin = begins_[part.what.arrays.front()];
    return executor_.start(*part.prepared, static_cast<const std::byte*>(in(slot)) + begin,
                           static_cast<std::byte*>(out(slot)) + begin);
  }

  void end_part(Lane& lane) {
    const PreparedPart& part = lane.parts[lane.ended++];
    if (part.what.packed()) {
      copied([&] { unpack(placed(part.what, out(lane.slot)), part.what, part.space.data); });
    }
    if (into_ != nullptr && lane.ended == lane.parts.size()) end_times(lane);
  }

  // ---- where the time goes, as the executor takes it of operations (Executor::time_parts) ----

  void begin_times(Lane& lane) {
    lane.started_ns = lane.oldest_ns = monotonic_ns();
    under_way_.push_back(&lane);
  }

  // Copies inside the rank.
  template <typename Copy>
  void copied(const Copy& copy) {
    const int64_t begin = into_ != nullptr ? monotonic_ns() : 0;
    copy();
    if (into_ != nullptr) of_parts_.local_ns += monotonic_ns() - begin;
  }

  void end_times(Lane& lane) {
    const int64_t now = monotonic_ns();
    const bool was_oldest = under_way_.front() == &lane;
    ++into_->operations;
    into_->total_ns += now - lane.started_ns;
    into_->queue_ns += (was_oldest ? lane.oldest_ns : now) - lane.started_ns;
    std::erase(under_way_, &lane);
    if (was_oldest && !under_way_.empty()) under_way_.front()->oldest_ns = now;
    into_->local_ns += std::exchange(of_parts_.local_ns, 0);
    for (size_t stall = 0; stall < into_->waits.size(); ++stall) {
      into_->waits[stall] += std::exchange(of_parts_.waits[stall], 0);
    }
  }

  Executor& executor_;
  std::vector<Buffer> arrays_;
  std::vector<uint64_t> begins_;  // of each array, in bytes
  std::vector<Lane> lanes_;
  TimeParts* into_ = nullptr;     // null = no times are taken
  TimeParts of_parts_;            // of the lists under way; only what is not counted by lists
  std::vector<Lane*> under_way_;  // the oldest first
};

// A part is an operation of its own: in place where it is packed, and with the list as its purpose,
// so that ranks whose lists differ are told.
Expected<PreparedPart> prepare_part(const EngineContext& context, OperationSpec spec,
                                    const ListPart& what) {
  spec.count = what.elements;
  spec.in_place = spec.in_place || what.packed();
  Array space;
  if (what.packed()) {
    Expected<Array> packed = context.group->allocate(what.elements * size_of(spec.dtype));
    if (!packed) return fail(packed.error());
    space = std::move(*packed);
  }
  Expected<Executor::PreparedPtr> prepared = context.executor->prepare(spec);
  if (!prepared) return fail(prepared.error());
  return PreparedPart{what, std::move(space), std::move(*prepared)};
}

}  // namespace

std::vector<Buffer> equal_arrays(DType dtype, uint64_t elements, int arrays) {
  const auto number = static_cast<uint64_t>(std::max(1, arrays));
  std::vector<Buffer> list;
  list.reserve(number);
  for (uint64_t i = 0; i < number; ++i) {
    const uint64_t count = elements / number + (i < elements % number ? 1 : 0);
    list.emplace_back(nullptr, static_cast<size_t>(count), dtype);
  }
  return list;
}

std::vector<ListShare> list_shares(DType dtype, uint64_t elements, int arrays) {
  if (arrays <= 1) return {{elements, false, 1}};
  std::vector<ListShare> shares;
  for (const ListPart& part : parts_of(equal_arrays(dtype, elements, arrays))) {
    const auto same = std::find_if(shares.begin(), shares.end(), [&part](const ListShare& share) {
      return share.elements == part.elements && share.packed == part.packed();
    });
    if (same != shares.end()) {
      ++same->times;
    } else {
      shares.push_back({part.elements, part.packed(), 1});
    }
  }
  return shares;
}

std::string arrays_unsupported(const Cell& cell) {
  if (cell.arrays == 1) return {};
  if (cell.arrays < 1 || cell.arrays > kMostArrays) {
    return fmt::format("{} arrays: use 1 to {}", cell.arrays, kMostArrays);
  }
  if (cell.op != to_string(Op::kAllreduce)) {
    return fmt::format("lists of arrays are reduced by allreduce, not by {}: use that, or arrays 1",
                       cell.op);
  }
  if (cell.engine != kNativeEngine) {
    return fmt::format(
        "lists of arrays are known to the engine {} only, not to {}: use that, or arrays 1",
        kNativeEngine, cell.engine);
  }
  if (!cell.compression.empty()) {
    return fmt::format("lists of arrays are not compressed: use compression none instead of {}",
                       cell.compression);
  }
  const auto least = static_cast<uint64_t>(cell.arrays);
  if (cell.count >= least) return {};
  const auto dtype = dtype_from(cell.dtype);
  return fmt::format("{} arrays of {} need {} bytes or more, not {}: each has at least one element",
                     cell.arrays, cell.dtype, least * (dtype ? size_of(*dtype) : 1), cell.bytes);
}

Expected<std::unique_ptr<EngineWork>> prepare_list(const EngineContext& context,
                                                   const OperationSpec& spec, size_t slots,
                                                   size_t lanes) {
  std::vector<Buffer> arrays = equal_arrays(spec.dtype, spec.count, spec.arrays);
  OperationSpec of_part = spec;
  of_part.arrays = 1;
  of_part.purpose = text_of(arrays);
  const std::vector<ListPart> parts = parts_of(arrays);
  std::vector<ListWork::Lane> prepared(lanes);
  for (ListWork::Lane& lane : prepared) {
    for (const ListPart& part : parts) {
      Expected<PreparedPart> one = prepare_part(context, of_part, part);
      if (!one) return fail(one.error());
      lane.parts.push_back(std::move(*one));
    }
  }
  return std::make_unique<ListWork>(context, spec, slots, std::move(arrays), std::move(prepared));
}

}  // namespace plumbline
