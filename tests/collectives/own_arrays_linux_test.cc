// Collectives over arrays that the user brought, which no group has allocated, between ranks that
// are processes: right results, and counters that say how the bytes came.
#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/collective_case.h"
#include "tests/support/process_reads_linux.h"
#include "tests/support/rank_lives_linux.h"

namespace plumbline {
namespace {

using testing::MatchesRegex;

// How the payload of one operation came to this rank.
std::string received_text(uint64_t all, uint64_t taken, uint64_t in_place, uint64_t copied) {
  return std::to_string(all) + " bytes, " + std::to_string(taken) + " of them taken, " +
         std::to_string(in_place) + " in place, " + std::to_string(copied) + " copied";
}

// Runs one operation, then another that is counted: the first messages of a pair may leave before
// both know that they may be read.
std::string counted(Executor& executor, const OperationSpec& spec, Group& group, bool own) {
  const Group* const from = own ? nullptr : &group;
  std::string wrong = run_verified(executor, spec, group.rank(), group.size(), 1, from);
  const ChannelStats before = group.stats();
  wrong += run_verified(executor, spec, group.rank(), group.size(), 2, from);
  const ChannelStats after = group.stats();
  return wrong + received_text(after.payload_received - before.payload_received,
                               after.direct_received - before.direct_received,
                               after.in_place_bytes - before.in_place_bytes,
                               after.copied_bytes - before.copied_bytes);
}

enum class Came { kRead, kMappedUsed, kMappedCopied, kMappedHalfAndHalf, kThroughRings };

struct Counted {
  const char* name;
  Op op;
  const char* algorithm;
  uint64_t bytes;  // that each of two ranks gets from the other
  bool own;
  Came came;
  bool in_place = false;
  const char* direct_bytes = "128Ki";
};

constexpr uint64_t kShare = 2 << 20;    // messages of 1 MiB at least
constexpr uint64_t kMore = 1152 << 10;  // of a ring, messages of 576 KiB
constexpr uint64_t kLess = kMore - 8;
constexpr Counted kCounted[] = {
    {"gathered", Op::kAllgather, "direct", kShare, true, Came::kRead},
    {"gathered round a ring", Op::kAllgather, "ring", kShare, true, Came::kRead},
    {"gathered, just enough", Op::kAllgather, "direct", 512 * 1024, true, Came::kRead},
    {"gathered, too little", Op::kAllgather, "direct", 512 * 1024 - 4, true, Came::kThroughRings},
    {"gathered, mapped", Op::kAllgather, "direct", kShare, false, Came::kMappedCopied},
    {"exchanged", Op::kAlltoall, "direct", kShare, true, Came::kRead},
    {"exchanged, mapped", Op::kAlltoall, "direct", kShare, false, Came::kMappedCopied},
    {"reduced", Op::kReduceScatter, "ring", kShare, true, Came::kThroughRings},
    {"reduced, mapped", Op::kReduceScatter, "ring", kShare, false, Came::kMappedUsed},
    {"reduced for all", Op::kAllreduce, "ring", kShare, true, Came::kThroughRings},
    {"broadcast", Op::kBroadcast, "binomial", kShare, true, Came::kThroughRings},
    // An array that is written again at once: messages of less than 576 KiB, unless asked for.
    {"summed in place", Op::kAllreduce, "ring", kMore, false, Came::kMappedHalfAndHalf, true},
    {"summed in place, less", Op::kAllreduce, "ring", kLess, false, Came::kThroughRings, true},
    {"summed in place, less, asked for", Op::kAllreduce, "ring", kLess, false,
     Came::kMappedHalfAndHalf, true, "64Ki"},
    {"summed elsewhere, less", Op::kAllreduce, "ring", kLess, false, Came::kMappedHalfAndHalf},
};

TEST(OwnArrays, CountersSayHowTheBytesCame) {
  if (const std::string why = test::no_process_reads(); !why.empty()) GTEST_SKIP() << why;
  for (const Counted& row : kCounted) {
    OpenedWorld world;
    world.options = *world.options.with("direct_bytes", row.direct_bytes, "test");
    const auto life = [&row](int, std::unique_ptr<Group> group) {
      Executor executor(*group, test_kernels());
      OperationSpec spec;
      spec.op = row.op;
      spec.algorithm = row.algorithm;
      spec.count = row.bytes / sizeof(float);
      spec.in_place = row.in_place;
      return counted(executor, spec, *group, row.own);
    };
    const std::vector<std::string> left = test::let_live(**find_transport("shm", false), 2, world,
                                                         -1, life, Deadline::after_ms(60'000));
    for (const std::string& text : left) {
      if (row.came == Came::kThroughRings) {
        // How much of it is used in the ring depends on where its end comes to lie.
        EXPECT_THAT(text, MatchesRegex("[0-9]+ bytes, 0 of them taken, .*")) << row.name;
        continue;
      }
      const uint64_t half = row.came == Came::kMappedHalfAndHalf ? row.bytes / 2 : 0;
      EXPECT_EQ(text, received_text(row.bytes, row.bytes,
                                    row.came == Came::kMappedUsed ? row.bytes : half,
                                    row.came == Came::kMappedCopied ? row.bytes : half))
          << row.name;
    }
  }
}

// All algorithms, arrays of both kinds in turns on the same connections: what is read, what is
// mapped and what goes through rings stand beside each other.
TEST(OwnArrays, EveryAlgorithmIsRightOverShmAndAuto) {
  for (const char* name : {"shm", "auto"}) {
    OpenedWorld world;
    world.options = *world.options.with("direct_bytes", "1", "test");
    constexpr int kRanks = 3;
    const auto life = [](int rank, std::unique_ptr<Group> group) -> std::string {
      Executor executor(*group, test_kernels());
      uint32_t seed = 0;
      for (const AlgorithmRow& algorithm : algorithm_table()) {
        const bool reads = algorithm.op == Op::kAllgather || algorithm.op == Op::kAlltoall;
        // Of one byte each these are enough to be read.
        for (const uint64_t count : {uint64_t{7}, uint64_t{reads ? 600'001u : 70'001u}}) {
          OperationSpec spec;
          spec.op = algorithm.op;
          spec.algorithm = algorithm.name;
          spec.count = spec.op == Op::kBarrier ? 0 : count;
          spec.dtype = dtype_table()[seed % dtype_table().size()].dtype;
          spec.in_place = allows_in_place(spec.op) && seed % 2 == 0;
          ScheduleRequest request;
          request.op = spec.op;
          request.size = kRanks;
          request.count = spec.count;
          if (kRanks < row(spec.op).min_ranks || !find_algorithm(spec.algorithm, request)) continue;
          const Group* const from = ++seed % 3 == 0 ? group.get() : nullptr;
          const std::string wrong = run_verified(executor, spec, rank, kRanks, seed, from);
          if (!wrong.empty()) return spec.text(kRanks, algorithm.name) + ": " + wrong;
        }
      }
      return group->stats().direct_received > 0 ? "" : "nothing was taken from anybody's memory";
    };
    const std::vector<std::string> left =
        test::let_live(**find_transport(name, false), kRanks, world, -1, life,
                       Deadline::after_ms(test::kSanitized ? 240'000 : 60'000));
    for (const std::string& text : left) EXPECT_EQ(text, "") << name;
  }
}

}  // namespace
}  // namespace plumbline
