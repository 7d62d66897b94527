// What can be measured and with what: element types and reduction operators (the two small enums of
// plumbline/types.h) and operations, each with one table of names. The operation table says which
// size S a bandwidth is computed from, and the bus bandwidth factor (nccl-tests
// doc/PERFORMANCE.md). With n ranks, S bytes and t seconds:
//   algbw = S / t          busbw = algbw * bus_factor(op, n)
// S is the whole array: for allgather, reduce_scatter, alltoall, gather and scatter it spans all
// ranks, so that each rank contributes or receives S / n. The nccl names ("float", "half") are what
// `coll -d` accepts and prints. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plumbline/types.h"

namespace plumbline {

struct DTypeRow {
  DType dtype;
  const char* name;       // "f32"
  const char* nccl_name;  // "float"
  size_t size;            // bytes per element
  bool floating;
};
struct RedOpRow {
  RedOp redop;
  const char* name;       // "sum", "avg", "min", "max", "product"
  const char* nccl_name;  // "prod" for product
};

inline constexpr size_t kDTypeCount = 8;
std::span<const DTypeRow> dtype_table();
std::span<const RedOpRow> redop_table();

const DTypeRow& row(DType dtype);
const RedOpRow& row(RedOp redop);
inline size_t size_of(DType dtype) { return row(dtype).size; }
inline const char* to_string(DType dtype) { return row(dtype).name; }
inline const char* to_string(RedOp redop) { return row(redop).name; }
// Accept our name or nccl's; nullopt when neither.
std::optional<DType> dtype_from(std::string_view name);
std::optional<RedOp> redop_from(std::string_view name);
// Why combining such elements so means nothing, and what would work; empty = it means something.
std::string reduction_unsupported(DType dtype, RedOp redop);
// The operator on bytes that is `redop` on truth values (DType::kBool): the greater of two bytes is
// their or, the lesser their and.
constexpr RedOp redop_on_truth(RedOp redop) {
  return redop == RedOp::kProduct || redop == RedOp::kMin ? RedOp::kMin : RedOp::kMax;
}

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

// Every rank (of a pair: both) sends and receives at once, so that a path used both ways bounds it.
bool is_two_way(Op op);

// algbw and busbw in bytes per second; 0 when t_ns <= 0 or S == 0.
double algbw_Bps(Op op, uint64_t bytes, double t_ns);
double busbw_Bps(Op op, int ranks, uint64_t bytes, double t_ns);
// The least bytes that the busiest rank must send for this operation, summed over all ranks: the
// ideal that measured wire bytes are compared with.
uint64_t ideal_wire_bytes(Op op, int ranks, uint64_t bytes);

// Between the name of an algorithm and its parameter: "exchange:2x2".
inline constexpr char kParameterMark = ':';
inline std::string algorithm_base(const std::string& name) {
  return name.substr(0, name.find(kParameterMark));
}

}  // namespace plumbline
