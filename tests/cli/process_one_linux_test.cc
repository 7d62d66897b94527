// plumbline as process 1, as it is where a container starts it: `docker run IMAGE plumbline run
// ...`.
#include <gtest/gtest.h>

#include "tests/support/program.h"

namespace plumbline {
namespace {

// What it says as the first process of a process namespace of its own.
Finished run_as_process_one(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {"unshare", "--user", "--map-root-user", "--mount",     "--pid",
                                   "--fork",  "--net",  "--mount-proc",    "--kill-child"};
  const std::string script = "ip link set lo up && exec \"$@\"";
  for (const char* word : {"sh", "-c", script.c_str(), "sh"}) argv.emplace_back(word);
  for (const std::string& word : arguments) argv.push_back(word);
  return run_program(argv);
}

TEST(ProcessOne, ItsRanksAreNotTakenForOrphans) {
  const Finished may = run_as_process_one({"sh", "-c", "echo $$"});
  if (may.status != 0) GTEST_SKIP() << "no process namespaces here: " << may.err;
  ASSERT_EQ(may.out, "1\n");
  const Finished done = run_as_process_one(plumbline_argv(
      {"coll", "allreduce", "-b", "8", "-e", "1K", "-f", "128", "-n", "2", "--ranks", "2"}));
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_EQ(done.err.find("killed"), std::string::npos) << done.err;
}

}  // namespace
}  // namespace plumbline
