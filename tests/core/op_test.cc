#include "core/op.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace plumbline {
namespace {

TEST(Tables, StandInTheOrderOfTheirEnums) {
  for (size_t i = 0; i < op_table().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(op_table()[i].op), i);
    EXPECT_EQ(op_from(op_table()[i].name), op_table()[i].op);
  }
  for (size_t i = 0; i < dtype_table().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(dtype_table()[i].dtype), i);
    EXPECT_EQ(dtype_from(dtype_table()[i].nccl_name), dtype_table()[i].dtype);
  }
  for (size_t i = 0; i < redop_table().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(redop_table()[i].redop), i);
    EXPECT_EQ(redop_from(redop_table()[i].nccl_name), redop_table()[i].redop);
  }
  EXPECT_EQ(op_from("all_reduce"), std::nullopt);
}

// What means nothing is refused in one line that says what would work.
TEST(Reductions, OnlyAnAverageOfTruthValuesMeansNothing) {
  for (const DTypeRow& dtype : dtype_table()) {
    for (const RedOpRow& redop : redop_table()) {
      const bool means = dtype.dtype != DType::kBool || redop.redop != RedOp::kAvg;
      EXPECT_EQ(reduction_unsupported(dtype.dtype, redop.redop).empty(), means)
          << dtype.name << " " << redop.name;
    }
  }
  EXPECT_EQ(reduction_unsupported(DType::kBool, RedOp::kAvg),
            "avg of bool means nothing; use sum or max (logical or), product or min (logical and), "
            "or dtype u8");
}

TEST(Reductions, TruthIsTheGreaterOrTheLesserByte) {
  EXPECT_EQ(redop_on_truth(RedOp::kSum), RedOp::kMax);
  EXPECT_EQ(redop_on_truth(RedOp::kMax), RedOp::kMax);
  EXPECT_EQ(redop_on_truth(RedOp::kProduct), RedOp::kMin);
  EXPECT_EQ(redop_on_truth(RedOp::kMin), RedOp::kMin);
}

// std::vector<bool> has no array of bytes.
TEST(ElementTypes, ABoolIsAByte) {
  static_assert(dtype_of<bool>() == DType::kBool);
  static_assert(ElementRange<std::array<bool, 3>> && !ElementRange<std::vector<bool>>);
  bool flags[] = {true, false};
  const Buffer buffer = flags;
  EXPECT_EQ(buffer.dtype, DType::kBool);
  EXPECT_EQ(buffer.count, 2u);
  EXPECT_EQ(size_of(DType::kBool), 1u);
  EXPECT_EQ(dtype_from("bool"), DType::kBool);
}

TEST(Shape, RoundsDownToWholeElementsPerRank) {
  const Shape allreduce = shape_of(Op::kAllreduce, DType::kF32, 3, 1027);
  EXPECT_EQ(allreduce.count, 256u);
  EXPECT_EQ(allreduce.bytes, 1024u);
  EXPECT_EQ(allreduce.in_elems, 256u);
  const Shape gather = shape_of(Op::kAllgather, DType::kF32, 3, 1027);
  EXPECT_EQ(gather.count, 85u);
  EXPECT_EQ(gather.bytes, 85u * 3 * 4);
  EXPECT_EQ(gather.in_elems, 85u);
  EXPECT_EQ(gather.out_elems, 255u);
  const Shape scatter = shape_of(Op::kReduceScatter, DType::kF64, 4, 100);
  EXPECT_EQ(scatter.count, 3u);
  EXPECT_EQ(scatter.in_elems, 12u);
  EXPECT_EQ(scatter.out_elems, 3u);
  EXPECT_EQ(shape_of(Op::kAllgather, DType::kF32, 8, 16).bytes, 0u);
  EXPECT_EQ(shape_of(Op::kBarrier, DType::kF32, 8, 16).bytes, 0u);
}

// nccl-tests, doc/PERFORMANCE.md.
TEST(Bandwidth, BusFactors) {
  EXPECT_DOUBLE_EQ(row(Op::kAllreduce).bus_factor(4), 1.5);
  EXPECT_DOUBLE_EQ(row(Op::kReduceScatter).bus_factor(4), 0.75);
  EXPECT_DOUBLE_EQ(row(Op::kAllgather).bus_factor(2), 0.5);
  EXPECT_DOUBLE_EQ(row(Op::kBroadcast).bus_factor(9), 1.0);
  EXPECT_DOUBLE_EQ(row(Op::kAllreduce).bus_factor(1), 0.0);
  EXPECT_DOUBLE_EQ(busbw_Bps(Op::kAllreduce, 2, 1'000'000, 1000), 1e12);
  EXPECT_DOUBLE_EQ(algbw_Bps(Op::kAllreduce, 1'000'000, 0), 0);
  EXPECT_DOUBLE_EQ(algbw_Bps(Op::kPingpong, 1000, 1000), 2e9);
}

TEST(Bandwidth, IdealWireBytesOfOneRankAreZero) {
  for (const OpRow& op : op_table()) EXPECT_EQ(ideal_wire_bytes(op.op, 1, 1024), 0u) << op.name;
  EXPECT_EQ(ideal_wire_bytes(Op::kAllreduce, 4, 1024), 6u * 1024);
  EXPECT_EQ(ideal_wire_bytes(Op::kGather, 4, 1024), 3u * 256);
}

}  // namespace
}  // namespace plumbline
