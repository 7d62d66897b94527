// The operation table: what can be measured, which size S its bandwidth is computed from, and its
// bus bandwidth factor (nccl-tests doc/PERFORMANCE.md). With n ranks, S bytes and t seconds:
//   algbw = S / t          busbw = algbw * bus_factor(op, n)
// S is the whole array: for allgather, reduce_scatter, alltoall, gather and scatter it spans all
// ranks, so that each rank contributes or receives S / n. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/dtype.h"

namespace plumbline {

enum class Op : uint8_t {
  kAllreduce,
  kReduceScatter,
  kAllgather,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAlltoall,
  kBarrier,
  kPingpong,  // rank 0 -> 1 -> 0; time is the full round trip, S / t counts both ways' bytes (2 S)
  kStream,    // one way, 0 -> 1, acknowledged by an empty message
  kBidirectional,  // 0 <-> 1 at once; S each way
  kSendrecv,       // ring: every rank sends S to its right neighbour and receives S from its left
};

struct OpRow {
  Op op;
  const char* name;             // "allreduce"
  const char* help;             // one line
  bool per_rank_share;          // S spans all ranks: each rank's part is S / n
  bool reduces;                 // a redop applies
  bool rooted;                  // a root applies
  bool point_to_point;          // p2p pattern rather than a collective
  bool has_in_place;            // input and output may share memory
  int min_ranks;                // smallest world that gives it a meaning
  double (*bus_factor)(int n);  // see above; 0 for barrier
};

std::span<const OpRow> op_table();
const OpRow& row(Op op);
inline const char* to_string(Op op) { return row(op).name; }
std::optional<Op> op_from(std::string_view name);

// How large the buffers of one operation are, in elements. `count` is nccl-tests' count: the
// elements of one rank's argument (S / size for most; S / size / n where S spans all ranks).
struct Shape {
  uint64_t count = 0;      // elements of one rank's argument
  uint64_t bytes = 0;      // S after rounding down to whole elements per rank
  uint64_t in_elems = 0;   // elements of this rank's input buffer (the largest over ranks)
  uint64_t out_elems = 0;  // elements of this rank's output buffer (the largest over ranks)
};
// `bytes` is S as asked for. barrier gives all zeros.
Shape shape_of(Op op, DType dtype, int ranks, uint64_t bytes);

// algbw and busbw in bytes per second; 0 when t_ns <= 0 or S == 0.
double algbw_Bps(Op op, uint64_t bytes, double t_ns);
double busbw_Bps(Op op, int ranks, uint64_t bytes, double t_ns);
// The least bytes that the busiest rank must send for this operation, summed over all ranks: the
// ideal that measured wire bytes are compared with.
uint64_t ideal_wire_bytes(Op op, int ranks, uint64_t bytes);

}  // namespace plumbline
