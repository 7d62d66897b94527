// A collective algorithm as data: the list of steps of one rank. An algorithm is a pure function of
// (op, rank, size, count, parameters); the same schedule feeds the executor, the verifier
// (check_schedule), and the counters. A step starts when the steps it depends on are done; a
// *streaming* dependency lets it follow byte for byte, which is how a ring forwards a chunk while
// it is still arriving. All ranges are in elements. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/algorithm_name.h"
#include "collectives/topology.h"
#include "core/codec.h"
#include "core/error.h"
#include "core/op.h"

namespace plumbline {

enum class BufferId : uint8_t { kIn, kOut, kScratch };

struct Range {
  BufferId buffer = BufferId::kOut;
  uint64_t begin = 0;  // first element
  uint64_t count = 0;  // elements
  bool operator==(const Range&) const = default;
};

enum class StepKind : uint8_t { kLocal, kSend, kRecv };
enum class Action : uint8_t {
  kCopy,         // dst = source
  kReduce,       // dst = operand (op) source
  kReduceScale,  // dst = (operand (op) source) / size: the last reduction of an AVG
  kScale,        // dst = source / size (local only)
};

struct Step {
  StepKind kind = StepKind::kLocal;
  Action action = Action::kCopy;
  int peer = -1;  // send, recv
  uint32_t message =
      0;  // names the message between this pair: sender and receiver compute the same number
  Range source = {};   // local: where from; send: what goes out; recv: unused (the wire)
  Range operand = {};  // reduce actions: the other operand; may be the same as dst
  Range dst = {};      // local, recv: where to; same count as source
  // Local reductions: what is combined after `source`, in this order; each may be the same as dst.
  std::vector<Range> more = {};
  std::vector<uint32_t> after = {};  // indices of earlier steps that must be complete
  // Index of an earlier step (recv or local) whose dst is exactly this step's source: this step may
  // use each element as soon as it is written. -1 = none. Only for sends.
  int32_t streams_from = -1;
  // Of compressed schedules only; compress() sets them.
  bool halved = false;          // send, recv: elements travel in 16 bits
  bool rounds_source = false;   // what is read is rounded to 16 bits first ...
  bool rounds_operand = false;  // ... the other operand too
  bool rounds_result = false;   // what is written is rounded
};

// Bytes that an element of this message takes on the wire.
inline size_t wire_size(const Step& step, size_t elem_size) {
  return step.halved ? sizeof(uint16_t) : elem_size;
}

struct Schedule {
  std::vector<Step> steps;     // indices only point backwards
  uint64_t scratch_elems = 0;  // scratch that this rank needs
};

// What an algorithm is asked for.
struct ScheduleRequest {
  Op op = Op::kAllreduce;
  RedOp redop = RedOp::kSum;
  int rank = 0;
  int size = 1;
  int root = 0;
  uint64_t count = 0;     // elements of one rank's argument (core/op.h)
  size_t elem_size = 4;   // bytes
  bool in_place = false;  // in and out are the same memory where the op allows it (core/op.h)
  uint64_t segment_bytes = 256 * 1024;  // for pipelined algorithms: size of one segment
  const RankPairs* apart = nullptr;     // who is not connected; null = what the topology says
  bool own_cables = false;              // every two ranks have a link that no others use
  AlgorithmParameter parameter = {};    // empty: what is usual for the algorithm
  // What "auto" goes by before its own thresholds (find_algorithm); null = nothing is known.
  const Topology* topology = nullptr;
  const std::vector<TunedRange>* tuned = nullptr;
  Codec codec = {};
};
// The pairs of ranks of a request that are not connected.
const RankPairs& apart_of(const ScheduleRequest& request);
// What moves for such a request: itself, or, with topk, an allgather of the ranks' frames
// (collectives/sparse_exchange.h), in place, in words of 4 bytes.
ScheduleRequest moving_request(const ScheduleRequest& request);

// In place means: allreduce, broadcast, reduce, alltoall: in == out. allgather, gather: in is this
// rank's part of out. reduce_scatter, scatter: out is this rank's part of in. Buffers of schedules
// are named as if they were apart; the executor maps them. A schedule never writes to kIn.
struct BufferLayout {
  uint64_t in_elems = 0;   // what this rank may read: 0 where only the root has an input
  uint64_t out_elems = 0;  // what this rank must write: 0 where only the root has a result
  // In place: where in[0] lies relative to out[0], in elements (-rank * count for reduce_scatter).
  int64_t in_offset = 0;
};
BufferLayout layout_of(const ScheduleRequest& request);
// Whether the operation has a meaning in place (point-to-point patterns and the barrier have none).
bool allows_in_place(Op op);

struct AlgorithmRow {
  Op op;
  const char* name;    // "ring"
  const char* help;    // one line
  const char* source;  // paper, textbook or "folklore" with the one-line idea
  // Empty = supported, otherwise why not ("needs a power-of-two world size"); of the parameter too.
  std::string (*unsupported)(const ScheduleRequest& request);
  Schedule (*build)(const ScheduleRequest& request);
  ParameterRow parameter = {};
  // An element that several ranks get has the same bits on all of them.
  bool same_bits = true;
};

// The radices that a request asks for, or what is usual: the prime factors of its ranks.
std::vector<int> radices_of(const ScheduleRequest& request);
// The name with the parameter that the request has: "exchange:2x2x2". A number is left out where it
// is the usual one; an order that was asked for stays.
std::string full_name(const AlgorithmRow& algorithm, const ScheduleRequest& request);

// What every collective has for ranks that are not all connected; where they are it is a star.
inline constexpr char kTreeAlgorithm[] = "tree";
bool is_tree(const AlgorithmRow& algorithm);

// The one table, grouped by op; the first supported row of an op is the fallback of `auto`.
const std::vector<AlgorithmRow>& algorithm_table();
// The parent of each rank (-1: rank 0) in a tree of ranks that are connected, breadth first from
// rank 0, so that no other has a shorter way to it. `apart`: pairs of ranks that are not connected.
// kUnreachable for a rank without any way to rank 0.
Expected<std::vector<int>> spanning_tree(int size, const RankPairs& apart);
// All ranks in an order in which neighbours, and the last and the first, are connected: that of
// their numbers where it will do, or where a bounded search finds none. The same on all ranks.
std::vector<int> ring_order(int size, const RankPairs& apart);
// NAME, or NAME:PARAMETER, which becomes request.parameter. "auto" picks by op, size and bytes:
// what request.tuned says, else what the rates of request.topology promise to be clearly faster
// than what thresholds as measured elsewhere give, else these. `small_bytes` = SMALL_MSG_THRESHOLD
// option, which is a threshold of the user's own: with it only thresholds count. 0 = built-in.
// Where ranks are not connected and that choice needs them to be, the tree. kUnsupported for a
// named algorithm that needs it, and for an operation that has no tree.
Expected<const AlgorithmRow*> find_algorithm(const std::string& name, ScheduleRequest& request,
                                             uint64_t small_bytes = 0);
// Why no operation has an algorithm of this name with such a parameter, for any number of ranks;
// empty = one has, or the name without its parameter is unknown already.
std::string algorithm_malformed(const std::string& name);

// The schedule of request.rank as it runs: what the algorithm builds, compressed where the request
// has a codec.
Schedule build_schedule(const AlgorithmRow& algorithm, const ScheduleRequest& request);
// Of an allreduce: every message travels in 16 bits a number. Sums are made in f32; a value is
// rounded where it travels, where a rank goes on with what it has also sent, and where it is the
// result, so that all ranks hold the same: the owner of a sum rounds its own part too. No element
// is rounded more often on its way than there are ranks: once when it first travels, and once with
// each sum. check_schedule() proves that all ranks end with the same bits.
void compress(Schedule& schedule);

// Counters of one rank's schedule.
struct ScheduleCost {
  uint64_t sends = 0, recvs = 0;
  uint64_t send_bytes = 0, recv_bytes = 0, reduce_bytes = 0, copy_bytes = 0;
  uint32_t depth = 0;  // longest chain of messages: the latency term's factor
};
// Of one schedule alone; depth stays 0, because a chain of messages crosses ranks.
ScheduleCost cost_of(const Schedule& schedule, size_t elem_size);
// The same for request.rank, with the depth found from the schedules of all ranks.
ScheduleCost cost_of(const AlgorithmRow& algorithm, const ScheduleRequest& request);

// Runs the schedules of all ranks symbolically (contribution sets per element instead of numbers)
// and says what is wrong: an element that is missing, counted twice or in the wrong place, a
// message without partner, a cycle, a range outside its buffer, a read of something not yet
// written, two unordered writes, and, where all ranks should end with the same bits, a result that
// they reckon differently: in another order, or rounded elsewhere. Empty = right. For tests and for
// selftest; size <= 64.
std::string check_schedule(const AlgorithmRow& algorithm, ScheduleRequest request);

}  // namespace plumbline
