// Cells of several arrays: every element right for all types, odd sizes and numbers of arrays,
// packed and not; and what is known of them before they run is what they do.
#include "collectives/list_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "collectives/cell_run.h"
#include "collectives/communicator_list.h"
#include "core/op.h"
#include "tests/support/collective_case.h"
#include "tests/support/row_share.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

World list_world(int ranks, const WireShape& wire = kWireShapes[0]) {
  return make_memory_groups(ranks, channel_options_for(wire), {0, true}, wire.buffer_bytes);
}

OperationSpec list_spec(DType dtype, uint64_t elements, int arrays, bool in_place) {
  OperationSpec spec;
  spec.dtype = dtype;
  spec.count = elements;
  spec.arrays = arrays;
  spec.in_place = in_place;
  return spec;
}

std::string lane_result(EngineWork& work, size_t lane, const Status& done, uint32_t seed) {
  if (!done) return done.error().message();
  const uint64_t wrong = work.count_wrong(lane, seed);
  return wrong == 0 ? "" : std::to_string(wrong) + " wrong elements";
}

// Two lists in flight, one waited for and one asked after; twice, the second time over what the
// first has left.
std::string run_twice(EngineWork& work, int ranks, uint32_t seed) {
  for (const uint32_t round : {0U, 10U}) {
    for (const uint32_t lane : {0U, 1U}) {
      work.fill(lane, seed + round + lane);
      // One rank's sum is what it brings.
      const bool may_be_right = ranks == 1;
      if (!may_be_right && work.count_wrong(lane, seed + round + lane) == 0) {
        return "right before it ran";
      }
    }
    for (const size_t lane : {0, 1}) {
      if (const Status started = work.start(lane, lane); !started) return started.error().message();
    }
    Expected<bool> ended = false;
    while (ended && !*ended) {
      ended = work.poll(1);
      std::this_thread::yield();  // there are more ranks than processors
    }
    const std::string polled =
        lane_result(work, 1, ended ? Status() : fail(ended.error()), seed + round + 1);
    if (!polled.empty()) return "asked after: " + polled;
    const std::string waited =
        lane_result(work, 0, work.wait(0, Deadline::after_ms(60'000)), seed + round);
    if (!waited.empty()) return "waited for: " + waited;
  }
  return {};
}

std::string run_list(World& world, const OperationSpec& spec, uint32_t seed) {
  const OptionSet options;
  return first_of(on_every_rank(world, [&](int, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    const auto engine = open_native_engine({&group, &executor, &test_kernels(), &options});
    const auto work = (*engine)->prepare(spec, 2, 2);
    return work ? run_twice(**work, group.size(), seed) : work.error().message();
  }));
}

std::string name_of(const OperationSpec& spec, int ranks) {
  return std::to_string(spec.arrays) + " arrays, " + std::to_string(spec.count) + " " +
         to_string(spec.dtype) + (spec.in_place ? " in place, " : ", ") + std::to_string(ranks) +
         " ranks";
}

TEST(ListWork, EveryTypeAndReductionIsRight) {
  World world = list_world(3);
  uint32_t seed = 1;
  for (const DTypeRow& dtype : dtype_table()) {
    for (const RedOpRow& redop : redop_table()) {
      if (!reduction_unsupported(dtype.dtype, redop.redop).empty()) continue;
      for (const bool in_place : {false, true}) {
        OperationSpec spec = list_spec(dtype.dtype, 1003, 7, in_place);
        spec.redop = redop.redop;
        EXPECT_EQ(run_list(world, spec, seed += 100), "") << name_of(spec, 3) << redop.name;
      }
    }
  }
}

// Of these some are packed into one part, some into several, some lie alone; few sizes divide.
TEST(ListWork, OneToNineRanksAndSizesThatDoNotDivide) {
  constexpr uint64_t kAlone = kAloneBytes / 4, kPacked = kPackedBytes / 4;
  struct List {
    uint64_t elements;
    int arrays;
  };
  constexpr List kLists[] = {{2, 2},
                             {7, 7},
                             {7, 3},
                             {1001, 64},
                             {2 * kAlone - 1, 2},  // one alone, one packed by itself
                             {3 * kAlone + 2, 3},  // all alone, two of them longer
                             {11 * (kAlone - 3) + 5, 11},
                             {2 * kPacked + 13, 100}};
  constexpr uint64_t kQuick = 3 * kAlone + 2;  // elements, for many ranks and tight wires
  test::RowShare share;
  for (int ranks = 1; ranks <= static_cast<int>(kMatrixRanks); ++ranks) {
    for (const WireShape& wire : kWireShapes) {
      const bool usual = &wire == &kWireShapes[0];
      if (ranks != 2 && !usual) continue;
      World world = list_world(ranks, wire);
      uint32_t seed = 1;
      for (const List& list : kLists) {
        if (list.elements > kQuick && (ranks > 3 || !usual)) continue;
        seed += 100;
        if (!share.runs(std::to_string(ranks) + wire.name)) continue;
        const OperationSpec spec =
            list_spec(DType::kF32, list.elements, list.arrays, (list.arrays + ranks) % 2 == 0);
        EXPECT_EQ(run_list(world, spec, seed), "") << name_of(spec, ranks) << wire.name;
      }
    }
  }
}

TEST(ListWork, AnAlgorithmByNameRunsEveryPart) {
  World world = list_world(4);
  for (const char* algorithm : {"ring", "recursive_doubling", "exchange:2x2"}) {
    for (const int arrays : {9, 100}) {  // alone, and packed
      OperationSpec spec = list_spec(DType::kI64, 200'003, arrays, false);
      spec.algorithm = algorithm;
      EXPECT_EQ(run_list(world, spec, 1), "") << algorithm;
    }
  }
}

TEST(ListWork, RanksWithDifferentListsAreToldBoth) {
  World world = list_world(2);
  const OptionSet options;
  const auto said = on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    const auto engine = open_native_engine({&group, &executor, &test_kernels(), &options});
    const auto work = (*engine)->prepare(list_spec(DType::kF32, 100, 4 + rank, true), 1, 1);
    if (!work) return work.error().message();
    (*work)->fill(0, 1);
    const Status done = (*work)->run(0, Deadline::after_ms(20'000));
    return done ? "" : done.error().message();
  });
  EXPECT_THAT(said[0] + said[1], AllOf(HasSubstr("list of 4 arrays (25, 25, 25, 25 elements"),
                                       HasSubstr("list of 5 arrays (20, 20, 20, 20, ...")));
}

TEST(ListWork, ArraysAreAsEqualAsElementsAllow) {
  for (const uint64_t elements : {uint64_t{1}, uint64_t{64}, uint64_t{1000}, uint64_t{4099}}) {
    for (const int arrays : {1, 2, 7, 64, 1000}) {
      uint64_t sum = 0;
      const std::vector<Buffer> list = equal_arrays(DType::kF16, elements, arrays);
      ASSERT_EQ(list.size(), static_cast<size_t>(arrays));
      for (const Buffer& array : list) {
        EXPECT_EQ(array.dtype, DType::kF16);
        EXPECT_LE(array.count, list.front().count);
        EXPECT_GE(array.count + 1, list.front().count);
        sum += array.count;
      }
      EXPECT_EQ(sum, elements);
    }
  }
}

std::string shares_text(uint64_t elements, int arrays) {
  std::string text;
  for (const ListShare& share : list_shares(DType::kF32, elements, arrays)) {
    text += std::to_string(share.times) + "x" + std::to_string(share.elements) +
            (share.packed ? " packed;" : ";");
  }
  return text;
}

TEST(ListWork, SharesAreTheOperationsThatRun) {
  EXPECT_EQ(shares_text(100, 1), "1x100;");
  EXPECT_EQ(shares_text(0, 1), "1x0;");
  EXPECT_EQ(shares_text(100, 64), "1x100 packed;");
  EXPECT_EQ(shares_text(1 << 20, 4), "4x262144;");
  EXPECT_EQ(shares_text((1 << 20) + 1, 4), "1x262145;3x262144;");
  EXPECT_EQ(shares_text(1 << 20, 64), "4x262144 packed;");
  EXPECT_EQ(shares_text(32768 + 32767, 2), "1x32768;1x32767;") << "one is too few to be packed";
}

Cell list_cell(uint64_t bytes, int arrays, int ranks = 2) {
  Cell cell;
  cell.kind = CellKind::kLatency;
  cell.op = "allreduce";
  cell.ranks = ranks;
  cell.arrays = arrays;
  const Shape shape = shape_of(Op::kAllreduce, DType::kF32, ranks, bytes);
  cell.bytes = shape.bytes;
  cell.count = shape.count;
  return cell;
}

void expect_measured(CellKind kind, int arrays) {
  Cell cell = list_cell(600'004, arrays);
  cell.kind = kind;
  cell.outstanding = kind == CellKind::kThroughput ? 3 : 1;
  cell.sync = "none";
  MeasureSettings settings;
  settings.fixed_iterations = 5;
  settings.fixed_warmup = 1;
  settings.throughput_time_ns = 20'000'000;
  World world = list_world(2);
  const OptionSet options = *OptionSet().with("verify", "every", "test");
  const std::vector<Measurement> of_rank = measured_by_ranks(world, cell, settings, options);
  for (const Measurement& m : of_rank) {
    EXPECT_TRUE(m.verified) << to_string(kind);
    EXPECT_EQ(m.wire_bytes, 2 * 600'004U) << to_string(kind);
    EXPECT_EQ(m.resolved.algorithm.find('+'), std::string::npos) << "equal arrays, one choice";
  }
  // What it takes on each rank is that of one array of all their bytes, packing aside.
  if (kind != CellKind::kCheck) {
    EXPECT_EQ(of_rank[0].extra.at(kCostWire), 600'004);
  }
}

TEST(ListCells, MeasuredVerifiedAndCountedAsWhatTheySend) {
  for (const CellKind kind : {CellKind::kLatency, CellKind::kThroughput, CellKind::kCheck}) {
    for (const int arrays : {4, 64}) expect_measured(kind, arrays);  // alone, and packed
  }
}

TEST(ListCells, CostFloorAndMemoryAreThoseOfTheParts) {
  const OptionSet options;
  const auto one = operation_cost_of(list_cell(64'000, 1), options);
  const auto packed = operation_cost_of(list_cell(64'000, 16), options);
  ASSERT_TRUE(one && packed);
  EXPECT_EQ(packed->wire_bytes, one->wire_bytes);
  EXPECT_EQ(packed->reduce_bytes, one->reduce_bytes);
  Cell in_place = list_cell(64'000, 1);
  in_place.placement = "in";
  EXPECT_EQ(packed->copy_bytes, operation_cost_of(in_place, options)->copy_bytes + 2 * 64'000)
      << "there and back";
  const auto large = operation_cost_of(list_cell(4 << 20, 4), options);
  const auto quarter = operation_cost_of(list_cell(1 << 20, 1), options);
  ASSERT_TRUE(large && quarter);
  EXPECT_EQ(large->wire_bytes, 4 * quarter->wire_bytes);
  EXPECT_EQ(large->depth, quarter->depth) << "they are under way together";
  EXPECT_EQ(large->copy_bytes, 4 * quarter->copy_bytes) << "nothing is packed";

  const auto floor = floor_of(list_cell(1 << 20, 4), options);
  ASSERT_TRUE(floor);
  EXPECT_EQ(floor->bytes, 4 * floor_of(list_cell(1 << 18, 1), options)->bytes);

  const auto bytes = [&](int arrays) {
    return memory_of_operations(list_cell(16 << 20, arrays), false, options).value();
  };
  const auto operations = [](int arrays) {
    const Cell cell = list_cell(16 << 20, arrays);
    uint64_t times = 0;
    for (const ListShare& share : list_shares(DType::kF32, cell.count, arrays))
      times += share.times;
    return times;
  };
  // Arrays of 256 KiB and more lie alone: what more of them take is what each operation has of its
  // own, and nothing else.
  const uint64_t each = (bytes(64) - bytes(2)) / 62;
  ASSERT_EQ(operations(64), 64u);
  EXPECT_GT(each, 0u);
  EXPECT_LT(each, 8'192u);
  for (const int arrays : {4, 8, 16, 32, 64}) {
    EXPECT_EQ(bytes(arrays), bytes(2) + static_cast<uint64_t>(arrays - 2) * each) << arrays;
  }
  EXPECT_GE(bytes(1024), bytes(2) + (operations(1024) - 2) * each + (16 << 20))
      << "arrays of 16 KiB are packed";
}

// One algorithm by name runs all parts: what is chosen before is for the largest of them.
TEST(ListCells, TheRequestIsThatOfTheLargestPart) {
  const auto count = [](uint64_t bytes, int arrays) {
    return schedule_request_of(list_cell(bytes, arrays), Op::kAllreduce, DType::kF32).count;
  };
  EXPECT_EQ(count(4 << 20, 1), 1U << 20);
  EXPECT_EQ(count(4 << 20, 4), 1U << 18);
  EXPECT_EQ(count((4 << 20) + 4, 4), (1U << 18) + 1);
  EXPECT_EQ(count(64'000, 16), 16'000U);
}

TEST(ListCells, WhatMeansNothingIsRefusedWithWhatWouldWork) {
  const auto why = [](const std::function<void(Cell&)>& change) {
    Cell cell = list_cell(64, 4);
    change(cell);
    const auto spec = operation_of(cell, OptionSet());
    const std::string said = arrays_unsupported(cell);
    EXPECT_EQ(spec.has_value(), said.empty()) << said;
    return said;
  };
  EXPECT_EQ(why([](Cell&) {}), "");
  EXPECT_EQ(why([](Cell& c) { c.arrays = 16; }), "");
  EXPECT_THAT(why([](Cell& c) { c.arrays = 17; }),
              HasSubstr("17 arrays of f32 need 68 bytes or more, not 64"));
  EXPECT_THAT(why([](Cell& c) { c.arrays = 0; }), HasSubstr("use 1 to 65536"));
  EXPECT_THAT(why([](Cell& c) { c.arrays = -3; }), HasSubstr("use 1 to 65536"));
  EXPECT_THAT(why([](Cell& c) { c.arrays = kMostArrays + 1; }), HasSubstr("use 1 to 65536"));
  EXPECT_THAT(why([](Cell& c) { c.op = "reduce"; }), HasSubstr("by allreduce, not by reduce"));
  EXPECT_THAT(why([](Cell& c) { c.engine = "gloo"; }), HasSubstr("the engine native only"));
  EXPECT_THAT(why([](Cell& c) { c.compression = "fp16"; }), HasSubstr("use compression none"));
}

// A list that reached the executor would run as one array.
TEST(ListCells, TheExecutorRunsPartsOnly) {
  World world = list_world(1);
  Executor executor(*world.front(), test_kernels());
  const auto prepared = executor.prepare(list_spec(DType::kF32, 100, 4, false));
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message(), HasSubstr("4 arrays are not one operation"));
}

}  // namespace
}  // namespace plumbline
