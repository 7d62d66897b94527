// When ranks disagree, stop or die, and when bytes are spoiled: every rank gets an error that names
// the fault, within its deadline, and nothing hangs.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <latch>

#include "tests/support/collective_case.h"
#include "tests/support/row_share.h"
#include "transport/channel/fault.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

World failing_world(int ranks, const std::string& fault = "",
                    const WireShape& wire = kWireShapes[0], size_t ring_bytes = 1 << 16) {
  const auto spec = parse_fault(fault);
  EXPECT_TRUE(spec) << fault;
  return make_memory_groups(ranks, channel_options_for(wire), {0, true}, ring_bytes,
                            [spec = *spec](int self, int peer, std::unique_ptr<ByteStream> s) {
                              return wrap_fault(spec, self, peer, std::move(s));
                            });
}

OperationSpec sums(uint64_t count) {
  OperationSpec spec;
  spec.count = count;
  return spec;
}

// Runs spec_of(rank) once on every rank, which must fail on all of them; returns the errors.
std::vector<Error> failures(World& world, int64_t deadline_ms,
                            const std::function<OperationSpec(int)>& spec_of) {
  std::vector<Error> errors(world.size());
  std::atomic<int> running{static_cast<int>(world.size())};
  std::latch together(static_cast<std::ptrdiff_t>(world.size()));  // one deadline for all of them
  const auto said = on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    const OperationSpec spec = spec_of(rank);
    Operand operand(spec, rank, static_cast<int>(world.size()), 1);
    together.arrive_and_wait();
    auto prepared = executor.prepare(spec);
    if (!prepared) return prepared.error().message();
    Status status =
        executor.run(**prepared, operand.in(0), operand.out(0), Deadline::after_ms(deadline_ms));
    // A rank that had all it needed may be through; it learns of the fault in its next operation.
    while (status && running.load() == static_cast<int>(world.size())) std::this_thread::yield();
    auto next = executor.prepare(sums(1));
    std::vector<float> one(1);
    if (status) status = executor.run(**next, one.data(), one.data(), Deadline::after_ms(100));
    --running;
    if (status) return "finished although the ranks disagree";
    errors[static_cast<size_t>(rank)] = status.error();
    // And it stays so.
    const Status again = executor.start(**next, one.data(), one.data());
    if (again || again.error().message() != status.error().message()) return "works again";
    return {};
  });
  EXPECT_EQ(first_of(said), "");
  return errors;
}

bool any_says(const std::vector<Error>& errors, const std::string& text) {
  return std::any_of(errors.begin(), errors.end(), [&](const Error& error) {
    return error.message().find(text) != std::string::npos;
  });
}

struct Divergence {
  const char* name;
  std::function<void(OperationSpec&)> change;  // what rank 1 does differently
  const char* ours;                            // words of the two calls
  const char* theirs;
};

TEST(Failure, DivergentCallsAreNamed) {
  const std::vector<Divergence> all = {
      {"op", [](OperationSpec& s) { s.op = Op::kBroadcast; }, "allreduce", "broadcast"},
      {"dtype", [](OperationSpec& s) { s.dtype = DType::kI32; }, "f32", "i32"},
      {"redop", [](OperationSpec& s) { s.redop = RedOp::kMax; }, "sum", "max"},
      {"count", [](OperationSpec& s) { s.count = 1001; }, "count 1000)", "count 1001)"},
      {"algorithm", [](OperationSpec& s) { s.algorithm = "gather_reduce"; }, "recursive_doubling",
       "gather_reduce"},
      {"nothing to do", [](OperationSpec& s) { s.op = Op::kStream; }, "allreduce", "stream"},
  };
  for (const Divergence& divergence : all) {
    for (int ranks : {2, 3, 4}) {
      World world = failing_world(ranks);
      const auto errors = failures(world, 2500, [&](int rank) {
        OperationSpec spec = sums(1000);
        spec.algorithm = "recursive_doubling";
        if (rank == 1) {
          spec.algorithm = "auto";
          divergence.change(spec);
        }
        return spec;
      });
      const std::string name = std::string(divergence.name) + " " + std::to_string(ranks);
      EXPECT_TRUE(any_says(errors, divergence.ours)) << name << ": " << errors[0].message();
      EXPECT_TRUE(any_says(errors, divergence.theirs)) << name << ": " << errors[0].message();
      EXPECT_TRUE(std::any_of(errors.begin(), errors.end(),
                              [](const Error& e) { return e.code == ErrorCode::kMismatch; }))
          << name << ": " << errors[0].message() << " / " << errors[1].message();
    }
  }
}

TEST(Failure, DifferentRootsAreNamed) {
  World world = failing_world(3);
  const auto errors = failures(world, 3'000, [](int rank) {
    OperationSpec spec;
    spec.op = Op::kBroadcast;
    spec.count = 10;
    spec.root = rank == 2 ? 1 : 0;
    return spec;
  });
  EXPECT_TRUE(any_says(errors, "root 0")) << errors[1].message();
  EXPECT_TRUE(any_says(errors, "root 1")) << errors[1].message();
}

// The last rank never calls; it lives.
std::vector<Error> with_absent_rank(World& world, const OperationSpec& spec, int64_t deadline_ms) {
  const int absent = static_cast<int>(world.size()) - 1;
  std::vector<Error> errors;
  std::vector<Status> statuses(world.size());
  std::latch together(absent);  // one that starts late would be missed as well
  on_every_rank(world, [&](int rank, Group& group) -> std::string {
    if (rank == absent) return {};
    Executor executor(group, test_kernels());
    Operand operand(spec, rank, static_cast<int>(world.size()), 1);
    together.arrive_and_wait();
    auto prepared = executor.prepare(spec);
    statuses[static_cast<size_t>(rank)] =
        executor.run(**prepared, operand.in(0), operand.out(0), Deadline::after_ms(deadline_ms));
    return {};
  });
  for (int rank = 0; rank < absent; ++rank) {
    const Status& status = statuses[static_cast<size_t>(rank)];
    EXPECT_FALSE(status) << "rank " << rank;
    if (!status) errors.push_back(status.error());
  }
  return errors;
}

TEST(Failure, ARankThatNeverCallsIsBlamed) {
  for (const char* algorithm : {"ring", "recursive_doubling", "gather_reduce"}) {
    World world = failing_world(4);
    OperationSpec spec = sums(100'000);
    spec.algorithm = algorithm;
    const auto errors = with_absent_rank(world, spec, 2'000);
    EXPECT_TRUE(any_says(errors, "rank 3 is not in any operation"))
        << algorithm << ": " << errors[0].message();
    for (const Error& error : errors) {
      EXPECT_TRUE(error.code == ErrorCode::kTimeout || error.code == ErrorCode::kAborted);
      EXPECT_NE(error.message().find("rank 3"), std::string::npos) << error.message();
      EXPECT_NE(error.message().find(algorithm), std::string::npos) << error.message();
    }
  }
}

TEST(Failure, ARankThatDiesIsBlamed) {
  World world = failing_world(3);
  std::atomic<bool> begun{false};
  std::vector<Error> errors(2);
  const auto said = on_every_rank(world, [&](int rank, Group& group) -> std::string {
    if (rank == 2) {
      while (!begun.load()) std::this_thread::yield();
      world[2].reset();
      return {};
    }
    Executor executor(group, test_kernels());
    OperationSpec spec = sums(1 << 20);
    Operand operand(spec, rank, 3, 1);
    auto prepared = executor.prepare(spec);
    const Status started = executor.start(**prepared, operand.in(0), operand.out(0));
    begun.store(true);
    const Status status = started ? executor.wait(**prepared, Deadline::after_ms(20'000)) : started;
    if (status) return "finished without rank 2";
    errors[static_cast<size_t>(rank)] = status.error();
    return {};
  });
  EXPECT_EQ(first_of(said), "");
  EXPECT_TRUE(any_says(errors, "rank 2")) << errors[0].message();
  EXPECT_TRUE(any_says(errors, "ended")) << errors[0].message();
}

TEST(Failure, AbandonedPlansAreNotCalledBack) {
  World world = failing_world(2);
  const auto said = on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    {
      Operand operand(sums(1 << 20), rank, 2, 1);
      auto prepared = executor.prepare(sums(1 << 20));
      const Status status = executor.start(**prepared, operand.in(0), operand.out(0));
      // The other rank may have given up already.
      if (!status && status.error().code != ErrorCode::kAborted) return status.error().message();
    }  // the buffers and the prepared operation go away in flight
    for (int i = 0; i < 100; ++i) (void)executor.progress();
    return {};
  });
  EXPECT_EQ(first_of(said), "");
}

TEST(Faults, ShortReadsAndWritesChangeNothing) {
  test::RowShare share;
  for (const char* fault : {"short:bytes=1", "short:bytes=13", "short:bytes=4099"}) {
    for (const WireShape& wire : {kWireShapes[0], kWireShapes[3]}) {
      World world = failing_world(3, fault, wire, 4096);
      std::vector<OperationSpec> specs;
      const auto add = [&](const OperationSpec& spec) {
        if (share.runs(fault + std::string(wire.name))) specs.push_back(spec);
      };
      for (const char* algorithm : {"ring", "recursive_doubling", "gather_reduce"}) {
        OperationSpec spec = sums(3001);
        spec.algorithm = algorithm;
        spec.dtype = DType::kF64;
        add(spec);
        spec.in_place = true;
        spec.dtype = DType::kBf16;
        add(spec);
      }
      OperationSpec spec;
      spec.op = Op::kAlltoall;
      spec.count = 777;
      add(spec);
      EXPECT_EQ(run_all_verified(world, specs, 2), "") << fault << " " << wire.name;
    }
  }
}

TEST(Faults, AFlippedBitIsCountedWithoutChecksums) {
  for (const char* algorithm : {"direct", "ring", "recursive_doubling"}) {
    World world = failing_world(2, "flip:rank=1,peer=0,after=2000");
    std::vector<uint64_t> wrong(2);
    OperationSpec spec = sums(4096);
    spec.dtype = DType::kI64;
    spec.algorithm = algorithm;
    const auto said = on_every_rank(world, [&](int rank, Group& group) -> std::string {
      Executor executor(group, test_kernels());
      Operand operand(spec, rank, 2, 1);
      operand.fill(0, 4);
      auto prepared = executor.prepare(spec);
      const Status status =
          executor.run(**prepared, operand.in(0), operand.out(0), Deadline::after_ms(20'000));
      if (!status) return status.error().message();
      wrong[static_cast<size_t>(rank)] = operand.count_wrong(0, 4);
      return {};
    });
    EXPECT_EQ(first_of(said), "") << algorithm;
    EXPECT_EQ(wrong[0], 1u) << algorithm;
  }
}

TEST(Faults, AFlippedBitIsAnErrorWithChecksums) {
  World world = failing_world(2, "flip:rank=1,peer=0,after=2000", kWireShapes[3]);
  const auto errors = failures(world, 2000, [](int) { return sums(4096); });
  EXPECT_EQ(errors[0].code, ErrorCode::kWrongData) << errors[0].message();
  EXPECT_TRUE(any_says(errors, "checksum"));
}

TEST(Faults, AStalledStreamIsATimeoutThatNamesThePeer) {
  World world = failing_world(3, "stall:rank=1,peer=2,after=5000");
  const auto errors = failures(world, 500, [](int) {
    OperationSpec spec = sums(100'000);
    spec.algorithm = "ring";
    return spec;
  });
  EXPECT_TRUE(any_says(errors, "rank 1")) << errors[2].message();
  for (const Error& error : errors) EXPECT_NE(error.message(), "");
}

}  // namespace
}  // namespace plumbline
