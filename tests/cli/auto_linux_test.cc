// The transport `auto` of a run on this machine where the system gives no memory to share: no
// error, but a line, and the reason in every record.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/record/record.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

TEST(AutoTransport, RanksThatCannotShareMemorySayWhyAndUseTcp) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 256 * 1024;  // of files, which shared memory counts as; the ranks have it too
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Finished done =
      run_program(plumbline_argv({"coll", "allreduce", "-b", "64", "-e", "64", "-n", "2", "--ranks",
                                  "3", "--json", "--port-base", "auto"}));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("ranks 0 and 1 (and 2 more pairs) of one machine stay on TCP"),
            std::string::npos)
      << done.err;
  const ScratchFolder folder;
  const auto records = read_records(folder.write("records.jsonl", done.out));
  ASSERT_TRUE(records) << records.error().message();
  ASSERT_EQ(records->size(), 2u);
  for (const Record& record : *records) {
    EXPECT_EQ(record.measurement.wrong, 0u);
    const Resolved& resolved = record.measurement.resolved;
    EXPECT_EQ(resolved.transport, "tcp");
    ASSERT_EQ(resolved.fell_back.size(), 1u);
    EXPECT_EQ(resolved.fell_back[0].pair, "0-1");
    EXPECT_EQ(resolved.fell_back[0].pairs, 3u);
    EXPECT_NE(resolved.fell_back[0].reason.find("bytes of shared memory"), std::string::npos);
  }
}

}  // namespace
}  // namespace plumbline
