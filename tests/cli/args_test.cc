#include "cli/args.h"

#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "cli/coll_sweep.h"
#include "cli/commands.h"
#include "core/host/requirement.h"
#include "tests/support/places.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

Finished plumbline(const std::vector<std::string>& arguments) {
  return run_program(plumbline_argv(arguments));
}

struct BadUsage {
  std::vector<std::string> arguments;
  const char* expected;  // on standard error
};

TEST(Usage, MistakesExitOneAndNameTheNearestName) {
  const BadUsage cases[] = {
      {{}, "plumbline"},
      {{"rnu"}, "did you mean run?"},
      {{"run"}, "scenario"},
      {{"run", "/proc/nonexistent.json"}, "/proc/nonexistent.json"},
      {{"run", "x.json", "--owt", "y"}, "did you mean --out?"},
      {{"list", "probe"}, "did you mean probes?"},
      {{"report", "consloe", "x"}, "did you mean console?"},
      {{"report", "console", "/proc/nonexistent/records.jsonl"}, "/proc/nonexistent/records.jsonl"},
      {{"coll", "allreduse"}, "did you mean allreduce?"},
      {{"coll", "allreduce", "-b", "8Q"}, "not a size"},
      {{"coll", "allreduce", "-b", "-8"}, ""},
      {{"coll", "allreduce", "-b", "64M", "-e", "8"}, "larger than -e"},
      {{"coll", "allreduce", "-n", "0"}, "-n '0'"},
      {{"coll", "allreduce", "-n", "1e9"}, "-n '1e9'"},
      {{"coll", "allreduce", "-d", "flaot"}, "did you mean float?"},
      {{"coll", "allreduce", "-g", "2"}, "--ranks 2"},
      {{"coll", "allreduce", "-t", "4"}, "--ranks 4"},
      {{"coll", "broadcast", "-r", "9", "--ranks", "2"}, "-r '9'"},
      {{"coll", "allreduce", "--ranks", "1e30"}, "--ranks '1e30'"},
      {{"coll", "allreduce", "--algorithm", "rign"}, "ring"},
      {{"coll", "allreduce", "--transport", "rdam"}, "transport"},
      {{"coll", "allreduce", "--chunk-bytes", "12"}, "--chunk-bytes"},
      {{"coll", "pingpong", "--ranks", "1"}, "--ranks '1'"},
      {{"doctor", "--ports", "99999"}, "99999"},
      {{"trace", "x.pcap", "--first-at", "10.0.0.1"}, "--first-at takes two files"},
      {{"doctor", "--only", "tpc.connect"}, "did you mean tcp.connect?"},
      {{"config", "--port-base", "abc"}, "--port-base"},
      {{"completion", "cmd.exe"}, "bash"},
      {{"plan", "x.json", "--seed", "-1"}, ""},
      {{"lab", "exec", "node1", "ping", "-c1"},
       "-c1; the options of another program stand behind "
       "--: plumbline lab exec HOST -- CMD"},
      {{"lab", "up", "x.json", "--jsno"}, "did you mean --json?"},
  };
  for (const BadUsage& bad : cases) {
    const Finished done = plumbline(bad.arguments);
    const std::string what = testing::PrintToString(bad.arguments);
    EXPECT_EQ(done.status, 1) << what << done.err;
    EXPECT_NE(done.err.find(bad.expected), std::string::npos) << what << done.err;
    EXPECT_EQ(done.out, "") << what;
  }
}

// What is no number is none, whichever flag it is given to; one line names the flag, the text and
// the bounds, and nothing was begun.
TEST(Usage, NumbersHaveOneParser) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"doctor", "--ranks"}, "from 1 to 65535"},
      {{"doctor", "--idle"}, "from 1 to"},
      {{"coll", "allreduce", "--ranks"}, "to 1024"},
      {{"coll", "allreduce", "--iters"}, "from 1 to 1000000"},
      {{"plan", "collective_check", "--seed"}, "from 0 to 18446744073709551615"},
      {{"plan", "collective_check", "--rounds"}, "from 1 to"},
      {{"run", "collective_check", "--repeat"}, "from 1 to"},
      {{"watch", "--count"}, "from 1 to"},
      {{"results", "prune", "--keep"}, "from 0 to"},
  };
  for (const auto& [words, bounds] : cases) {
    for (const char* text : {"2x", "x", "0x2", " 2", "2.5", "99999999999999999999999"}) {
      std::vector<std::string> arguments = words;
      arguments.back() += std::string("=") + text;
      const Finished done = plumbline(arguments);
      const std::string what = testing::PrintToString(arguments) + done.err;
      EXPECT_EQ(done.status, 1) << what;
      EXPECT_NE(done.err.find(std::string("'") + text + "'"), std::string::npos) << what;
      EXPECT_NE(done.err.find(bounds), std::string::npos) << what;
      EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << what;
      EXPECT_EQ(done.out, "") << what;
    }
  }
}

TEST(Trace, SaysWhereItDrewThePlot) {
  static constexpr std::array kNeeds = {"gnuplot"};
  if (const auto reason = unmet(kNeeds)) GTEST_SKIP() << *reason;
  const ScratchFolder folder;
  const std::string trace = test::source_dir() + "/tests/fuzz/corpus/trace/black_hole-a.pcap";
  const Finished drawn = plumbline({"trace", trace, "--plot", folder.path("x.svg")});
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  EXPECT_EQ(drawn.err, "plumbline: wrote " + folder.path("x.svg") + "\n");
  const Finished refused = plumbline({"trace", trace, "--plot", folder.path("no/such/x.svg")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.err.find("wrote"), std::string::npos) << refused.err;
}

TEST(Usage, EveryCommandHasHelpWithItsFlags) {
  for (const CommandRow& row : command_table()) {
    const Finished done = plumbline({row.name, "--help"});
    EXPECT_EQ(done.status, 0) << row.name << done.err;
    for (const FlagRow& flag : row.flags) {
      const std::string names = flag.name;
      EXPECT_NE(done.out.find(names.substr(names.rfind(',') + 1)), std::string::npos)
          << row.name << names;
    }
  }
}

TEST(Usage, OptionsAreTakenFromFlagsAndVariables) {
  const Finished flag = plumbline({"config", "--chunk-bytes", "64Ki"});
  EXPECT_NE(flag.out.find("chunk_bytes"), std::string::npos) << flag.err;
  EXPECT_EQ(flag.status, 0);
  const Finished variable = run_program(plumbline_argv({"config"}),
                                        {"PLUMBLINE_CHUNK_BYTES=8192", "MCCL_CHUNK_BYTES=4096"});
  EXPECT_NE(variable.out.find("PLUMBLINE_CHUNK_BYTES"), std::string::npos) << variable.out;
  const Finished alias = run_program(plumbline_argv({"config"}), {"MCCL_CHUNK_BYTES=4096"});
  EXPECT_NE(alias.out.find("MCCL_CHUNK_BYTES"), std::string::npos) << alias.out;
  const Finished unknown = run_program(plumbline_argv({"config"}), {"PLUMBLINE_CHUNK_BITES=8192"});
  EXPECT_EQ(unknown.status, 1);
}

TEST(Usage, CompletionKnowsCommandsAndOptions) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Finished done = plumbline({"completion", shell});
    EXPECT_EQ(done.status, 0);
    for (const char* word : {"doctor", "--chunk-bytes", "allreduce", "markdown"}) {
      EXPECT_NE(done.out.find(word), std::string::npos) << shell << " " << word;
    }
  }
}

TEST(Usage, ClosedOutputDoesNotKill) {
  const Finished done = run_program({"/bin/sh", "-c", test::program_path() + " list | head -1"});
  EXPECT_EQ(done.status, 0);
  EXPECT_NE(done.out, "");
}

Args args_of(const std::map<std::string, std::string>& values) {
  Args args;
  args.add("operation", "allreduce");
  for (const auto& [name, value] : values) args.add(name, value);
  return args;
}

TEST(CollSweep, SizesAsNcclTestsStepsThem) {
  const auto by_factor =
      parse_coll(args_of({{"minbytes", "8"}, {"maxbytes", "64M"}, {"stepfactor", "4"}}));
  ASSERT_TRUE(by_factor);
  EXPECT_EQ(by_factor->sizes().size(), 12u);
  EXPECT_EQ(by_factor->sizes().front(), 8u);
  EXPECT_EQ(by_factor->sizes().back(), 33554432u);
  const auto by_bytes =
      parse_coll(args_of({{"minbytes", "1M"}, {"maxbytes", "4M"}, {"stepbytes", "1M"}}));
  EXPECT_EQ(by_bytes->sizes().size(), 4u);
  EXPECT_EQ(parse_coll(args_of({}))->sizes(), std::vector<uint64_t>{32u << 20});
  EXPECT_EQ(parse_coll(args_of({{"minbytes", "0"}, {"maxbytes", "0"}}))->sizes(),
            std::vector<uint64_t>{0});
  // From 0 a factor never leads anywhere.
  EXPECT_EQ(parse_coll(args_of({{"minbytes", "0"}, {"maxbytes", "8"}, {"stepfactor", "2"}}))
                ->sizes()
                .size(),
            1u);
}

TEST(CollSweep, AllMeansEveryRowOfTheTable) {
  Args args = args_of({{"datatype", "all"}, {"op", "all"}});
  EXPECT_EQ(parse_coll(args)->dtypes.size(), dtype_table().size());
  EXPECT_EQ(parse_coll(args)->redops.size(), redop_table().size());
  ASSERT_EQ(parse_coll(args)->notes.size(), 1u);
  EXPECT_EQ(parse_coll(args)->notes.front().rfind("left out: avg of bool means nothing", 0), 0u);
  Args broadcast;
  broadcast.add("operation", "broadcast");
  broadcast.add("root", "all");
  broadcast.add("ranks", "3");
  EXPECT_EQ(parse_coll(broadcast)->roots, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(parse_coll(broadcast)->redops.size(), 1u);
}

}  // namespace
}  // namespace plumbline
