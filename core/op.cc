#include "core/op.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace plumbline {
namespace {

constexpr std::array kDTypes = {
    DTypeRow{DType::kF32, "f32", "float", 4, true},
    DTypeRow{DType::kF64, "f64", "double", 8, true},
    DTypeRow{DType::kF16, "f16", "half", 2, true},
    DTypeRow{DType::kBf16, "bf16", "bfloat16", 2, true},
    DTypeRow{DType::kI32, "i32", "int32", 4, false},
    DTypeRow{DType::kI64, "i64", "int64", 8, false},
    DTypeRow{DType::kU8, "u8", "uint8", 1, false},
    DTypeRow{DType::kBool, "bool", "bool", 1, false},
};
constexpr std::array kRedOps = {
    RedOpRow{RedOp::kSum, "sum", "sum"},          RedOpRow{RedOp::kAvg, "avg", "avg"},
    RedOpRow{RedOp::kMin, "min", "min"},          RedOpRow{RedOp::kMax, "max", "max"},
    RedOpRow{RedOp::kProduct, "product", "prod"},
};
static_assert(kDTypes.size() == kDTypeCount);

double factor_one(int) { return 1.0; }
double factor_zero(int) { return 0.0; }
double factor_twice_share(int n) { return n > 0 ? 2.0 * (n - 1) / n : 0.0; }
double factor_share(int n) { return n > 0 ? 1.0 * (n - 1) / n : 0.0; }

// Columns after the help: S spans all ranks, reduces, rooted, point to point, in place, least
// ranks.
constexpr std::array kOps = {
    OpRow{Op::kAllreduce, "allreduce", "combine the arrays of all ranks, result on every rank",
          false, true, false, false, true, 1, factor_twice_share},
    OpRow{Op::kReduceScatter, "reduce_scatter", "combine, each rank keeps its share", true, true,
          false, false, true, 1, factor_share},
    OpRow{Op::kAllgather, "allgather", "every rank gets the parts of all ranks", true, false, false,
          false, true, 1, factor_share},
    OpRow{Op::kBroadcast, "broadcast", "the root's array to every rank", false, false, true, false,
          true, 1, factor_one},
    OpRow{Op::kReduce, "reduce", "combine, result on the root", false, true, true, false, true, 1,
          factor_one},
    OpRow{Op::kGather, "gather", "the parts of all ranks to the root", true, false, true, false,
          true, 1, factor_share},
    OpRow{Op::kScatter, "scatter", "the root's parts to their ranks", true, false, true, false,
          true, 1, factor_share},
    OpRow{Op::kAlltoall, "alltoall", "part j of rank i becomes part i of rank j", true, false,
          false, false, false, 1, factor_share},
    OpRow{Op::kBarrier, "barrier", "no rank leaves before all have arrived", false, false, false,
          false, false, 1, factor_zero},
    OpRow{Op::kPingpong, "pingpong", "rank 0 to 1 and back; the time is the full round trip", false,
          false, false, true, false, 2, factor_one},
    OpRow{Op::kStream, "stream", "rank 0 to 1, answered by an empty message", false, false, false,
          true, false, 2, factor_one},
    OpRow{Op::kBidirectional, "bidirectional", "rank 0 to 1 and 1 to 0 at once", false, false,
          false, true, false, 2, factor_one},
    OpRow{Op::kSendrecv, "sendrecv", "ring: send to the right neighbour, receive from the left",
          false, false, false, true, false, 1, factor_one},
};

}  // namespace

std::span<const DTypeRow> dtype_table() { return kDTypes; }
std::span<const RedOpRow> redop_table() { return kRedOps; }

// The tables stand in the order of their enums; tests/core/op_test.cc checks it.
const DTypeRow& row(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }
const RedOpRow& row(RedOp redop) { return kRedOps[static_cast<size_t>(redop)]; }

std::optional<DType> dtype_from(std::string_view name) {
  for (const DTypeRow& r : kDTypes) {
    if (name == r.name || name == r.nccl_name) return r.dtype;
  }
  return std::nullopt;
}

std::optional<RedOp> redop_from(std::string_view name) {
  for (const RedOpRow& r : kRedOps) {
    if (name == r.name || name == r.nccl_name) return r.redop;
  }
  return std::nullopt;
}

std::string reduction_unsupported(DType dtype, RedOp redop) {
  if (dtype != DType::kBool || redop != RedOp::kAvg) return {};
  return "avg of bool means nothing; use sum or max (logical or), product or min (logical and), or "
         "dtype u8";
}

std::span<const OpRow> op_table() { return kOps; }
// In the order of the enum; tests/core/op_test.cc checks it.
const OpRow& row(Op op) { return kOps[static_cast<size_t>(op)]; }

std::optional<Op> op_from(std::string_view name) {
  for (const OpRow& r : kOps) {
    if (name == r.name) return r.op;
  }
  return std::nullopt;
}

Shape shape_of(Op op, DType dtype, int ranks, uint64_t bytes) {
  Shape shape;
  if (op == Op::kBarrier || ranks < 1) return shape;
  const auto n = static_cast<uint64_t>(ranks);
  const uint64_t size = size_of(dtype);
  const bool share = row(op).per_rank_share;
  shape.count = share ? bytes / size / n : bytes / size;
  const uint64_t whole = share ? shape.count * n : shape.count;
  shape.bytes = whole * size;
  const bool whole_in = op == Op::kReduceScatter || op == Op::kScatter || op == Op::kAlltoall;
  const bool whole_out = op == Op::kAllgather || op == Op::kGather || op == Op::kAlltoall;
  shape.in_elems = whole_in ? whole : shape.count;
  shape.out_elems = whole_out ? whole : shape.count;
  return shape;
}

bool is_two_way(Op op) {
  constexpr Op kBothWays[] = {Op::kAllreduce, Op::kReduceScatter, Op::kAllgather,
                              Op::kAlltoall,  Op::kBidirectional, Op::kSendrecv};
  return std::find(std::begin(kBothWays), std::end(kBothWays), op) != std::end(kBothWays);
}

double algbw_Bps(Op op, uint64_t bytes, double t_ns) {
  if (t_ns <= 0) return 0;
  const double moved = static_cast<double>(bytes) * (op == Op::kPingpong ? 2.0 : 1.0);
  return moved / t_ns * 1e9;
}

double busbw_Bps(Op op, int ranks, uint64_t bytes, double t_ns) {
  return algbw_Bps(op, bytes, t_ns) * row(op).bus_factor(ranks);
}

uint64_t ideal_wire_bytes(Op op, int ranks, uint64_t bytes) {
  if (ranks < 2) return 0;
  const auto n = static_cast<uint64_t>(ranks);
  switch (op) {
    case Op::kAllreduce:
      return 2 * (n - 1) * bytes;  // 2 (n-1)/n S from each of n ranks
    case Op::kReduceScatter:
    case Op::kAllgather:
    case Op::kAlltoall:
      return (n - 1) * bytes;  // (n-1)/n S from each of n ranks
    case Op::kBroadcast:
    case Op::kReduce:
      return (n - 1) * bytes;  // every other rank gets or gives S once
    case Op::kGather:
    case Op::kScatter:
      return (n - 1) * (bytes / n);  // every other rank's part once
    case Op::kBarrier:
      return 0;
    case Op::kPingpong:
    case Op::kBidirectional:
      return 2 * bytes;
    case Op::kStream:
      return bytes;
    case Op::kSendrecv:
      return n * bytes;
  }
  return 0;
}

}  // namespace plumbline
