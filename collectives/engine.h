// An engine is somebody's implementation of the operations: ours (`native`), or another library
// beside it, measured by the same loop. The loop sees no more of it than this. An engine has its
// own memory, because a library may want it registered with a network card or on a device: it
// allocates the arrays, fills them with the known pattern and says what of a result is wrong. And
// it has operations that are started, polled and waited for with a deadline. The table has a row an
// engine. One thread per rank; all ranks make the same calls in the same order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/compressed_data.h"
#include "collectives/executor.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/options/options.h"
#include "core/record/cell.h"
#include "core/record/record.h"
#include "kernels/pattern.h"
#include "transport/peer_memory.h"

namespace plumbline {

// What an engine is opened over: the ranks, joined already, so that they can tell each other how to
// meet in another library.
struct EngineContext {
  Group* group = nullptr;
  Executor* executor = nullptr;
  const KernelSet* kernels = nullptr;
  const OptionSet* options = nullptr;
};

// What one cell has its engine do again and again: an operation on any of several sets of arrays
// (slots), several of them in flight at once (lanes, one operation each).
class EngineWork {
 public:
  virtual ~EngineWork() = default;

  // The pattern of `seed` into the input of a slot and something else into its output, so that
  // stale data is seen.
  virtual void fill(size_t slot, uint32_t seed) = 0;
  // Elements of the slot's output that are not what the operation should give, after fill(slot,
  // seed) and one operation.
  virtual uint64_t count_wrong(size_t slot, uint32_t seed) const = 0;

  virtual Status start(size_t lane, size_t slot) = 0;
  // Goes on with everything in flight, without waiting; true = the operation of the lane has ended.
  virtual Expected<bool> poll(size_t lane) = 0;
  // Until it has ended; an Error after the deadline, and then the group is broken.
  virtual Status wait(size_t lane, Deadline deadline) = 0;
  // One operation from start to end, on lane 0.
  virtual Status run(size_t slot, Deadline deadline) {
    const Status started = start(0, slot);
    return started ? wait(0, deadline) : started;
  }

  // From now on operations that start add up there where their time goes, at the price of reading
  // the clock (collectives/time_parts.h); null = no more. false = this engine cannot tell.
  virtual bool time_parts(TimeParts* /*into*/) { return false; }

  // What `auto` became, and the bytes that this rank sends an operation (0 = not known).
  virtual std::string algorithm() const = 0;
  virtual uint64_t sent_bytes() const = 0;
  // The largest error of the results that were counted so far; nullopt = they were compared
  // exactly, because nothing is compressed.
  virtual std::optional<ResultError> error() const { return std::nullopt; }
};

// What an engine has sent so far, headers and all, and sent again; 0 where it does not know. And
// what moving it took, where it counts that.
struct EngineTraffic {
  uint64_t wire_bytes = 0, retransmits = 0;
  std::optional<RankCounters> counters = {};
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Collective. Allocates and touches the arrays of all slots; starting allocates nothing.
  virtual Expected<std::unique_ptr<EngineWork>> prepare(const OperationSpec& spec, size_t slots,
                                                        size_t lanes) = 0;
  // Over what it runs: transport, kernel, frames.
  virtual void describe(Resolved& resolved) const = 0;
  virtual EngineTraffic traffic() const = 0;
};

struct EngineRow {
  const char* name;
  const char* help;
  // Empty = this build has it and it can run on this machine; otherwise the reason.
  std::string (*unavailable)();
  // Empty = it can do such a cell; otherwise the reason, which the cell is skipped with.
  std::string (*unsupported)(const Cell& cell);
  // Collective, once a group.
  Expected<std::unique_ptr<Engine>> (*open)(const EngineContext& context);
  // Its bytes do not go through our group: transports, addresses and what is known of connections
  // are not those that it used.
  bool own_network = false;
  bool threads = true;  // ranks may be threads of one process
};

std::span<const EngineRow> engine_table();
// Unknown or unusable names are errors that say why.
Expected<const EngineRow*> find_engine(std::string_view name);
// The same in another table.
Expected<const EngineRow*> find_engine(std::span<const EngineRow> table, std::string_view name);
// Why a cell cannot be had from the engine that it names; empty = it can. An engine that is not in
// the table is none of its business.
std::string engine_unsupported(const Cell& cell, bool ranks_in_process = false);
bool has_own_network(std::string_view engine);

Expected<std::unique_ptr<Engine>> open_native_engine(const EngineContext& context);

// The buffers of one measured operation: allocated and touched before timing, filled with the exact
// pattern, and checked element by element afterwards against what the operation should have left on
// this rank. In place, input and output share memory as collectives/schedule.h says. With several
// slots successive operations use different memory, so that caches stay cold. The data of
// compressed operations, and what counts as wrong there, is told in collectives/compressed_data.h.

// The patterns of so many seeds are kept: building one costs more than checking a small message.
inline constexpr size_t kPatternsKept = 4;

class Operand {
 public:
  // Arrays of the group, which its peers may reach by themselves; null = of this process alone.
  Operand(const OperationSpec& spec, int rank, int size, size_t slots,
          const Group* group = nullptr);

  // Pattern into the input and poison into the output of one slot; `seed` makes stale data visible.
  void fill(size_t slot, uint32_t seed);
  // Elements of this slot's output that are not what the operation should give, after fill(slot,
  // seed).
  uint64_t count_wrong(size_t slot, uint32_t seed) const;

  const void* in(size_t slot) const;
  void* out(size_t slot) const;
  // What topk has not sent of a slot's data; null without topk. fill() begins it anew.
  float* residual(size_t slot) { return slots_[slot].residual.data(); }
  size_t slots() const { return slots_.size(); }
  std::optional<ResultError> error() const;

 private:
  struct Slot {
    Array in, out;  // out empty when it lies inside in, and the other way round
    std::vector<float> residual;
  };
  const Pattern& pattern(uint32_t seed) const;

  OperationSpec spec_;
  int rank_, size_;
  Shape shape_;
  std::vector<Slot> slots_;
  std::unique_ptr<CompressedData> compressed_;  // null = nothing is compressed
  // Of the last few seeds.
  mutable std::vector<std::pair<uint32_t, std::unique_ptr<Pattern>>> patterns_;
};

// The memory of engines that work on arrays of this process (collectives/engine.h): what remains to
// be written is how an operation runs.
class HostWork : public EngineWork {
 public:
  HostWork(const OperationSpec& spec, const Group& group, size_t slots);

  void fill(size_t slot, uint32_t seed) override { operand_.fill(slot, seed ^ colour_); }
  uint64_t count_wrong(size_t slot, uint32_t seed) const override {
    return operand_.count_wrong(slot, seed ^ colour_);
  }
  std::optional<ResultError> error() const override { return operand_.error(); }

 protected:
  const void* in(size_t slot) const { return operand_.in(slot); }
  void* out(size_t slot) const { return operand_.out(slot); }
  float* residual(size_t slot) { return operand_.residual(slot); }

 private:
  Operand operand_;
  // Of the group by colour: each has data of its own, so that what another group's rank has sent is
  // wrong here.
  const uint32_t colour_;
};

}  // namespace plumbline
