// Groups of the ranks that run at the same time: every operation and algorithm right within each,
// what crosses between them seen, and numbers those of one group.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "collectives/cell_run.h"
#include "collectives/engine.h"
#include "core/split.h"
#include "tests/support/collective_case.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

World groups_world(int ranks) {
  return make_memory_groups(ranks, channel_options_for(kWireShapes[0]), {0, true}, 1 << 16);
}

Split split_named(const char* text) { return parse_split(text).value(); }

std::string run_once(EngineWork& work, uint32_t seed) {
  work.fill(0, seed);
  if (const Status done = work.run(0, Deadline::after_ms(60'000)); !done) {
    return done.error().message();
  }
  const uint64_t wrong = work.count_wrong(0, seed);
  return wrong == 0 ? "" : std::to_string(wrong) + " wrong elements";
}

// One after the other on the same ranks, so that later ones meet connections with a history.
std::string run_in_groups(World& world, const std::vector<OperationSpec>& specs) {
  const OptionSet options;
  return first_of(on_every_rank(world, [&](int, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    const auto engine = open_native_engine({&group, &executor, &test_kernels(), &options});
    uint32_t seed = 1;
    for (const OperationSpec& spec : specs) {
      const auto work = (*engine)->prepare(spec, 1, 1);
      const std::string wrong = work ? run_once(**work, ++seed) : work.error().message();
      if (!wrong.empty()) return spec.text(2, spec.algorithm.c_str()) + ": " + wrong;
    }
    return {};
  }));
}

TEST(Groups, EveryAlgorithmOfEveryOperationWithinEachGroup) {
  struct Case {
    const char* split;
    int ranks;
  };
  for (const Case& c : {Case{"mod:2", 4}, Case{"div:2", 4}, Case{"mod:2", 6}, Case{"div:3", 6},
                        Case{"mod:3", 9}, Case{"div:4", 8}}) {
    const Split split = split_named(c.split);
    const int size = group_size(split, c.ranks);
    World world = groups_world(c.ranks);
    std::vector<OperationSpec> specs;
    for (const AlgorithmRow& row : algorithm_table()) {
      for (const uint64_t count : {uint64_t{1}, uint64_t{1003}}) {
        OperationSpec spec;
        spec.op = row.op;
        spec.algorithm = row.name;
        spec.count = row.op == Op::kBarrier ? 0 : count;
        spec.root = size - 1;
        spec.split = split;
        spec.in_place = allows_in_place(row.op) && count == 1003;
        ScheduleRequest request;
        request.op = row.op;
        request.size = size;
        request.count = spec.count;
        if (size < plumbline::row(row.op).min_ranks) continue;
        if (find_algorithm(spec.algorithm, request)) specs.push_back(spec);
      }
    }
    ASSERT_GT(specs.size(), 40U);
    EXPECT_EQ(run_in_groups(world, specs), "") << c.split << " of " << c.ranks;
  }
}

TEST(Groups, ListsAndCodecsToo) {
  World world = groups_world(4);
  std::vector<OperationSpec> specs(4);
  for (OperationSpec& spec : specs) {
    spec.count = 100'003;
    spec.split = split_named("mod:2");
  }
  specs[1].arrays = 7;
  specs[2].codec = parse_codec("fp16").value();
  specs[3].codec = parse_codec("topk:0.1").value();
  EXPECT_EQ(run_in_groups(world, specs), "");
}

// Shows its arrays.
class Shown : public HostWork {
 public:
  using HostWork::HostWork;
  using HostWork::in;
  using HostWork::out;
  Status start(size_t /*lane*/, size_t /*slot*/) override { return {}; }
  Expected<bool> poll(size_t /*lane*/) override { return true; }
  Status wait(size_t /*lane*/, Deadline /*deadline*/) override { return {}; }
  std::string algorithm() const override { return "none"; }
  uint64_t sent_bytes() const override { return 0; }
};

// Ranks 0 and 1 have the same place in their groups: were their data the same, a group that got
// the other's would look right.
TEST(Groups, EachHasDataOfItsOwn) {
  World world = groups_world(4);
  OperationSpec spec;
  spec.op = Op::kBroadcast;
  spec.count = 100;
  spec.split = split_named("mod:2");
  Shown zero(spec, *world[0], 1), one(spec, *world[1], 1);
  zero.fill(0, 7);
  one.fill(0, 7);
  EXPECT_NE(std::memcmp(zero.in(0), one.in(0), 400), 0);
  std::memcpy(one.out(0), zero.in(0), 400);
  EXPECT_GT(one.count_wrong(0, 7), 50U);
  std::memcpy(one.out(0), one.in(0), 400);
  EXPECT_EQ(one.count_wrong(0, 7), 0U);
}

TEST(Groups, OfWhatCannotBeNothingIsPrepared) {
  World world = groups_world(4);
  Executor executor(*world[0], test_kernels());
  Executor holes(*world[1], test_kernels(), {{0, 3}});
  OperationSpec spec;
  spec.count = 8;
  const auto why = [&](const char* split, Executor& ranks) {
    spec.split = split_named(split);
    const auto prepared = ranks.prepare(spec);
    return prepared ? "" : prepared.error().message();
  };
  EXPECT_EQ(why("mod:2", executor), "");
  EXPECT_THAT(why("mod:3", executor), HasSubstr("use mod:2, or none"));
  EXPECT_THAT(why("div:4", executor), HasSubstr("use div:2, or none"));
  EXPECT_THAT(why("div:2", holes), HasSubstr("not all ranks are connected"));
  spec.op = Op::kBroadcast;
  spec.root = 2;
  EXPECT_THAT(why("mod:2", executor), HasSubstr("use 0 to 1")) << "a root is one of the group";
}

TEST(Groups, RanksThatDifferInThemAreToldBoth) {
  World world = groups_world(4);
  const OptionSet options;
  const auto said = on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    const auto engine = open_native_engine({&group, &executor, &test_kernels(), &options});
    OperationSpec spec;
    spec.count = 100;
    if (rank != 0) spec.split = split_named("div:2");
    const auto work = (*engine)->prepare(spec, 1, 1);
    return work ? run_once(**work, 1) : work.error().message();
  });
  EXPECT_THAT(said[0] + said[1], HasSubstr("in groups div:2"));
}

TEST(GroupCells, MeasuredWithTheNumbersOfOneGroup) {
  Cell cell;
  cell.kind = CellKind::kLatency;
  cell.op = "allgather";
  cell.redop = "none";
  cell.ranks = 4;
  cell.split = "mod:2";
  cell.bytes = 8000;
  cell.count = 1000;
  MeasureSettings settings;
  settings.fixed_iterations = 5;
  settings.fixed_warmup = 1;
  World world = groups_world(4);
  const OptionSet options;
  const std::vector<Measurement> of_rank = measured_by_ranks(world, cell, settings, options);
  for (const Measurement& m : of_rank) {
    EXPECT_TRUE(m.verified);
    EXPECT_EQ(m.resolved.group_ranks, 2);
    EXPECT_EQ(m.wire_bytes, 4 * 4000U) << "of both groups";
    EXPECT_EQ(m.samples_ns, of_rank[0].samples_ns) << "the slowest rank of all";
  }
  Cell alone = cell;
  alone.split.clear();
  alone.ranks = 2;
  const auto floor = floor_of(cell, options), one = floor_of(alone, options);
  ASSERT_TRUE(floor && one);
  EXPECT_EQ(floor->bytes, one->bytes);
  EXPECT_EQ(operation_cost_of(cell, options)->wire_bytes,
            operation_cost_of(alone, options)->wire_bytes);
  EXPECT_EQ(memory_of_operations(cell, true, options).value(),
            memory_of_operations(alone, true, options).value());
}

TEST(GroupCells, WhatMeansNothingIsRefused) {
  Cell cell;
  cell.op = "allreduce";
  cell.ranks = 4;
  cell.bytes = 64;
  cell.count = 16;
  const auto why = [&](const std::string& split, const char* engine = kNativeEngine) {
    cell.split = split;
    cell.engine = engine;
    const std::string said = groups_unsupported(cell);
    EXPECT_EQ(operation_of(cell, OptionSet()).has_value(), said.empty()) << said;
    return said;
  };
  EXPECT_EQ(why(""), "");
  EXPECT_EQ(why("div:2"), "");
  EXPECT_THAT(why("div:0"), HasSubstr("1 to 1024"));
  EXPECT_THAT(why("div:4"), HasSubstr("use div:2, or none"));
  EXPECT_THAT(why("div:2", "gloo"), HasSubstr("the engine native only, not by gloo"));
  cell.split = "div:2";
  cell.engine = kNativeEngine;
  const auto apart = algorithm_between(cell, OptionSet(), {{0, 3}});
  ASSERT_FALSE(apart);
  EXPECT_THAT(apart.error().message(), HasSubstr("all connected"));
}

}  // namespace
}  // namespace plumbline
