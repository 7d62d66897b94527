// submit and verify as a user runs them.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/submit_questions.h"
#include "core/json.h"
#include "reports/publish/bundle.h"
#include "tests/cli/submit_support.h"
#include "tests/support/places.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

TEST(Submit, WithoutATerminalMissingFlagsAreNamed) {
  const ScratchFolder folder;
  const std::string run = write_run(folder, samples::seeded_run());
  Finished finished = run_program(plumbline_argv({"submit", run, "--yes"}));
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("--link-kind, --hardware"), std::string::npos) << finished.err;
  finished = run_program(plumbline_argv({"submit", run, "--link-kind", "ethernet-10g"}));
  EXPECT_NE(finished.err.find("--cable, --hardware"), std::string::npos) << finished.err;
  finished = run_program(plumbline_argv({"submit", run, "--link-kind", "other"}));
  EXPECT_NE(finished.err.find("--link-speed, --cable, --hardware"), std::string::npos)
      << finished.err;
  finished = run_program(plumbline_argv({"submit", run, "--link-kind", "etherent-10g"}));
  EXPECT_NE(finished.err.find("did you mean ethernet-10g?"), std::string::npos) << finished.err;
  EXPECT_FALSE(fs::exists(folder.path("community")));
}

TEST(Submit, ShowsEverythingAndWritesOnlyWhatWasAgreed) {
  const ScratchFolder folder;
  const std::string run = write_run(folder, samples::seeded_run());
  const Finished shown = run_program(submit_argv(run, folder.path("community")));
  EXPECT_EQ(shown.status, 1);
  EXPECT_NE(shown.err.find("--yes"), std::string::npos);
  EXPECT_NE(shown.out.find("\"cable\": \"between host1 and addr1\""), std::string::npos)
      << shown.out;
  EXPECT_NE(shown.out.find("replaced: 10.77.0.2 -> addr1"), std::string::npos);
  EXPECT_NE(shown.out.find("1 noisy rows are left out"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder.path("community")));
  const std::string file = submitted(folder);
  ASSERT_TRUE(fs::exists(file)) << file;
  const json document = json::parse(read_file(file));
  EXPECT_EQ(fs::path(file).stem(), document["id"].get<std::string>());
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path("community")))
    ++files;
  EXPECT_EQ(files, 1u);
}

TEST(Submit, NothingOfTheSeededRunIsInTheFile) {
  const ScratchFolder folder;
  std::vector<std::string> more = {"--yes", "--notes", samples::statement().notes};
  const Finished finished = run_program(
      submit_argv(write_run(folder, samples::seeded_run()), folder.path("community"), more),
      {"USER=dorothea", "PLUMBLINE_SECRET=hunter2-TOKEN", "HOME=/home/dorothea"});
  const std::string text = lower(read_file(written(finished)));
  EXPECT_GT(text.size(), 1000u);
  for (const std::string& word : samples::seeded_words()) {
    EXPECT_EQ(text.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(text.find("dorothea"), std::string::npos);
}

TEST(Submit, WhatVerifyWouldRejectIsNotWritten) {
  const ScratchFolder folder;
  const std::string run = write_run(folder, samples::seeded_run());
  const Finished finished =
      run_program(plumbline_argv({"submit", run, "--link-kind", "ethernet-1g", "--cable", "x",
                                  "--hardware", "y", "--out", folder.path("community"), "--yes"}));
  EXPECT_EQ(finished.status, 3);
  EXPECT_NE(finished.err.find("impossible: content.rows["), std::string::npos) << finished.err;
  EXPECT_FALSE(fs::exists(folder.path("community")));
}

// The page could not be made any more: results update would refuse it as repeated.
TEST(Submit, TheSameRunUnderAnotherStatementIsNotWritten) {
  const ScratchFolder folder;
  const std::string first = submitted(folder);
  const std::string run = write_run(folder, samples::seeded_run());
  const Finished second =
      run_program(submit_argv(run, folder.path("community"), {"--yes", "--notes", "better"}));
  EXPECT_EQ(second.status, 3);
  EXPECT_NE(second.err.find("repeated: content.rows[0].hist the same samples as " +
                            fs::path(first).stem().string()),
            std::string::npos)
      << second.err;
  EXPECT_EQ(submitted(folder), first);  // the very same again is no other
}

TEST(Submit, ARunWithoutRowsIsRefusedBeforeAnyQuestion) {
  const ScratchFolder folder;
  std::vector<Record> run = samples::seeded_run();
  for (Record& record : run) record.noise = {"noisy", {"load"}};
  const Finished finished = run_program(plumbline_argv({"submit", write_run(folder, run)}));
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("no row to publish"), std::string::npos) << finished.err;
  EXPECT_EQ(finished.err.find("--link-kind"), std::string::npos) << finished.err;
}

TEST(Submit, SaysThatItMadeTheFolder) {
  const ScratchFolder folder;
  const std::string run = write_run(folder, samples::seeded_run());
  const Finished finished = run_program(submit_argv(run, folder.path("community"), {"--yes"}));
  EXPECT_NE(finished.out.find("does not exist and will be made"), std::string::npos);
  EXPECT_NE(finished.out.find("Folder: " + folder.path("community") + " is new"), std::string::npos)
      << finished.out;
}

TEST(Submit, CountsCharactersAndNotBytes) {
  for (const auto& [count, fits] : {std::pair{100, true}, {160, true}, {161, false}}) {
    Args args;
    args.add("link-kind", "loopback");
    std::string text;
    for (int i = 0; i < count; ++i) text += "\u00e9";
    args.add("hardware", text);
    std::ostringstream out;
    EXPECT_EQ(static_cast<bool>(ask_statement(args, {}, nullptr, out)), fits) << count;
  }
}

TEST(Submit, QuestionsAreAskedAndAskedAgain) {
  std::istringstream in(
      "thunderbold5\nthunderbolt5\n\n2\n\n1 m <b>\n1 m, active\nMac Studio; Mac mini\n\n\n");
  std::ostringstream out;
  const auto statement = ask_statement({}, {}, &in, out);
  ASSERT_TRUE(statement) << statement.error().message();
  EXPECT_EQ(statement->link_kind, "thunderbolt5");
  EXPECT_FALSE(statement->link_speed_bps);
  EXPECT_EQ(statement->links_per_host, 2);
  EXPECT_EQ(statement->cable, "1 m, active");
  EXPECT_EQ(statement->hardware, (std::vector<std::string>{"Mac Studio", "Mac mini"}));
  EXPECT_EQ(statement->submitter, "");
  EXPECT_NE(out.str().find("did you mean thunderbolt5?"), std::string::npos);
  EXPECT_NE(out.str().find("needs an answer"), std::string::npos);
  std::istringstream ends("loopback\n");
  const auto missing = ask_statement({}, {}, &ends, out);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message().find("--hardware"), std::string::npos);
  std::istringstream loop("loopback\nVM\nme\n\n");
  const auto local = ask_statement({}, {}, &loop, out);
  ASSERT_TRUE(local);
  EXPECT_EQ(local->cable, "none");
  for (const auto& [answer, yes] :
       {std::pair{"y\n", true}, {"n\n", false}, {"\n", false}, {"", false}}) {
    std::istringstream said(answer);
    EXPECT_EQ(confirm(said, out, "?"), yes) << answer;
  }
}

TEST(Submit, FlagsAreCheckedBeforeAnythingIsRead) {
  for (const auto& [flag, value] : {std::pair{"--link-speed", "fast"},
                                    {"--links", "0"},
                                    {"--links", "1e9"},
                                    {"--cable", "a|b"},
                                    {"--notes", "see http://x"},
                                    {"--hardware", "\x1b[m"}}) {
    Args args;
    args.add("link-kind", "ethernet-10g");
    args.add("cable", "c");
    args.add("hardware", "h");
    args.add(std::string(flag).substr(2), value);
    std::ostringstream out;
    const auto statement = ask_statement(args, {}, nullptr, out);
    ASSERT_FALSE(statement) << flag << value;
    EXPECT_NE(statement.error().message().find(flag), std::string::npos);
  }
}

// Whoever ships one more scenario names it there, or its runs are published as `own`.
TEST(Submit, KnowsTheScenariosThatShip) {
  const std::string root = test::source_dir();
  const std::string source = read_file(root + "/cli/submit_command.cc");
  for (const auto& entry : fs::directory_iterator(root + "/scenarios")) {
    if (entry.path().extension() != ".json") continue;
    EXPECT_NE(source.find('"' + entry.path().stem().string() + '"'), std::string::npos)
        << entry.path();
  }
}

TEST(Verify, SaysWhichFieldWasAltered) {
  const ScratchFolder folder;
  const std::string file = submitted(folder);
  Finished finished = run_program(plumbline_argv({"verify", file}));
  EXPECT_EQ(finished.status, 0) << finished.out;
  EXPECT_NE(finished.out.find("ok, 6 rows"), std::string::npos) << finished.out;
  std::string text = read_file(file);
  const size_t at = text.find("\"load1_percent\": 25");
  ASSERT_NE(at, std::string::npos);
  text[at + 18] = '4';
  std::ofstream(file) << text;
  finished = run_program(plumbline_argv({"verify", file}));
  EXPECT_EQ(finished.status, 3);
  EXPECT_NE(
      finished.out.find("altered: content.environment.hosts[0].load1_percent is 24 now, was 25"),
      std::string::npos)
      << finished.out;
  finished = run_program(plumbline_argv({"verify", "--json", file}));
  EXPECT_EQ(finished.status, 3);
  const json all = json::parse(finished.out);
  EXPECT_EQ(all[0]["problems"][0]["kind"], "altered");
  EXPECT_EQ(all[0]["ok"], false);
}

TEST(Verify, HostileFilesAreRejectedQuickly) {
  const ScratchFolder folder;
  const std::string large = folder.path("large.json");
  { std::ofstream(large) << "{"; }
  fs::resize_file(large, 100 << 20);  // zeros behind the brace
  for (const std::string& file :
       {large, folder.write("deep.json", std::string(1 << 20, '[')), folder.write("empty.json", ""),
        folder.write("bytes.json", "\xff\xfe{}"), folder.write("twice.json", R"({"id":1,"id":2})"),
        folder.write("other.json", "{\"plumbline_bundle\":1,\"content\":{\"a\":1e400}}")}) {
    const Finished finished = run_program(plumbline_argv({"verify", file}), {}, 20'000);
    EXPECT_EQ(finished.status, 3) << file << finished.err;
    EXPECT_NE(finished.out.find("REJECTED"), std::string::npos) << file;
  }
  EXPECT_EQ(run_program(plumbline_argv({"verify", folder.path("none.json")})).status, 1);
  EXPECT_EQ(run_program(plumbline_argv({"verify", folder.path()})).status, 1);
}

TEST(Verify, ASymbolicLinkIsNoBundle) {
  const ScratchFolder folder;
  const std::string file = submitted(folder);
  fs::create_directories(folder.path("other"));
  const std::string link = folder.path("other/" + fs::path(file).filename().string());
  fs::create_symlink(file, link);
  const Finished finished = run_program(plumbline_argv({"verify", link}));
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("symbolic link"), std::string::npos) << finished.err;
}

TEST(Verify, AllowedSignersMustBeThereWhenNamed) {
  const ScratchFolder folder;
  const std::string file = submitted(folder);
  for (const std::string& none : {folder.path("nope"), folder.path()}) {
    const Finished finished =
        run_program(plumbline_argv({"verify", "--allowed-signers", none, file}));
    EXPECT_EQ(finished.status, 1) << finished.out;
    EXPECT_NE(finished.err.find("allowed signers " + none), std::string::npos) << finished.err;
  }
}

// This machine's clock is no proof, so it is a flag, and the page does not depend on it.
TEST(Verify, ADateInTheFutureIsFlagged) {
  const ScratchFolder folder;
  const std::string file = submitted(folder);
  json content = json::parse(read_file(file))["content"];
  content["date"] = "2099-12-31";
  const json sealed = seal_bundle(content);
  const std::string late =
      folder.write(sealed["id"].get<std::string>() + ".json", bundle_text(sealed));
  const Finished finished = run_program(plumbline_argv({"verify", late}));
  EXPECT_EQ(finished.status, 0) << finished.out;
  EXPECT_NE(finished.out.find("flag future: content.date is 2099-12-31"), std::string::npos)
      << finished.out;
}

}  // namespace
}  // namespace plumbline
