// How many operations `coll` times where nobody says it: as many as a p99 needs where these take
// half a second at most, and nccl-tests' 20 in its own columns.
#include <gmock/gmock.h>

#include "core/record/record.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

Record measured(std::vector<std::string> more) {
  const ScratchFolder folder;
  std::vector<std::string> words = {"coll", "allreduce", "-b", "8",
                                    "-e",   "8",         "-J", folder.path("r.jsonl")};
  words.insert(words.end(), more.begin(), more.end());
  const Finished done = run_program(plumbline_argv(words));
  EXPECT_EQ(done.status, 0) << done.err;
  const auto records = read_records(folder.path("r.jsonl"));
  EXPECT_TRUE(records && !records->empty());
  return records && !records->empty() ? records->front() : Record{};
}

TEST(CollTail, FollowsFromATimeUnlessANumberIsGiven) {
  const Record record = measured({"--format", "table"});
  const Measurement& table = record.measurement;
  const double whole_ns =
      static_cast<double>(table.elapsed_ns) / static_cast<double>(table.iterations) * 1000;
  EXPECT_GE(table.iterations, 20u);
  EXPECT_TRUE(table.iterations == 1000 || whole_ns > 5e8) << table.iterations;
  EXPECT_EQ(measured({"--format", "table", "-n", "7"}).measurement.iterations, 7u);
  EXPECT_EQ(measured({"--format", "nccl"}).measurement.iterations, 20u);
}

}  // namespace
}  // namespace plumbline
