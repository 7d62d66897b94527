// Every row of the table of engines is one that runs.
#include "collectives/engine.h"

#include <gmock/gmock.h>

#include "tests/support/collective_case.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

World engine_world(int ranks) {
  return make_memory_groups(ranks, channel_options_for(kWireShapes[0]), {0, true}, 1 << 16);
}

// The engine on every rank of a world, used by one cell with two operations in flight.
std::string use(const EngineRow& row) {
  World world = engine_world(3);
  const OptionSet options;
  return first_of(on_every_rank(world, [&](int, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    const auto engine = row.open({&group, &executor, &test_kernels(), &options});
    if (!engine) return engine.error().message();
    OperationSpec spec;
    spec.count = 1000;
    const auto work = (*engine)->prepare(spec, 2, 2);
    if (!work) return work.error().message();
    for (const size_t lane : {0, 1}) (*work)->fill(lane, static_cast<uint32_t>(lane) + 1);
    for (const size_t lane : {0, 1}) {
      if (const Status started = (*work)->start(lane, lane); !started) {
        return started.error().message();
      }
    }
    while (true) {
      const Expected<bool> ended = (*work)->poll(1);
      if (!ended) return ended.error().message();
      if (*ended) break;
    }
    if (const Status done = (*work)->wait(0, Deadline::after_ms(10'000)); !done) {
      return done.error().message();
    }
    const uint64_t wrong = (*work)->count_wrong(0, 1) + (*work)->count_wrong(1, 2);
    if ((*work)->count_wrong(0, 2) == 0) return "it would take any data for right";
    Resolved resolved;
    (*engine)->describe(resolved);
    if (resolved.transport.empty() || (*work)->algorithm().empty()) return "it names nothing";
    return wrong == 0 ? "" : std::to_string(wrong) + " wrong elements";
  }));
}

TEST(Engines, EveryUsableOneOfTheTableWorks) {
  for (const EngineRow& row : engine_table()) {
    if (row.unavailable().empty()) {
      EXPECT_EQ(use(row), "") << row.name;
    }
    EXPECT_EQ(find_engine(row.name).has_value(), row.unavailable().empty()) << row.name;
  }
}

TEST(Engines, AnUnknownOneIsRefusedWithTheNearest) {
  const auto wrong = find_engine("natve");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), testing::HasSubstr("did you mean 'native'?"));
}

TEST(Engines, OneThatCannotBeUsedSaysWhy) {
  const EngineRow gone[] = {{"gone", "needs what is not there",
                             [] { return std::string("no libgone.so"); },
                             [](const Cell&) { return std::string(); }, open_native_engine}};
  const auto found = find_engine(gone, "gone");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message(), testing::HasSubstr("engine gone: no libgone.so"));
}

}  // namespace
}  // namespace plumbline
