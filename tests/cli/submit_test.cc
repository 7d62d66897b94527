// submit, verify and results as a user runs them, signatures and two pull requests included.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "cli/submit_questions.h"
#include "core/command.h"
#include "core/json.h"
#include "reports/bundle.h"
#include "tests/reports/bundle_samples.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

// A folder with the records of the seeded run.
std::string write_run(const ScratchFolder& folder, const std::vector<Record>& run) {
  std::string lines;
  for (const Record& record : run) lines += to_line(record) + "\n";
  fs::create_directories(folder.path("run"));
  return fs::path(folder.write("run/records.jsonl", lines)).parent_path().string();
}

std::vector<std::string> submit_argv(const std::string& run, const std::string& out,
                                     const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"submit",      run,
                                    "--link-kind", "ethernet-10g",
                                    "--cable",     "between Zebra7 and 10.77.0.2",
                                    "--hardware",  "Mac mini",
                                    "--out",       out};
  words.insert(words.end(), more.begin(), more.end());
  return plumbline_argv(words);
}

// The bundle that a submission says it has written.
std::string written(const Finished& finished) {
  EXPECT_EQ(finished.status, 0) << finished.err;
  const size_t at = finished.out.find("Bundle: ");
  if (at == std::string::npos) return "";
  return finished.out.substr(at + 8, finished.out.find('\n', at) - at - 8);
}

std::string submitted(const ScratchFolder& folder, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = more;
  words.emplace_back("--yes");
  return written(run_program(
      submit_argv(write_run(folder, samples::seeded_run()), folder.path("community"), words)));
}

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

TEST(Submit, QuestionsAreAskedAndAskedAgain) {
  std::istringstream in(
      "thunderbold5\nthunderbolt5\n\n2\n\n1 m <b>\n1 m, active\nMac Studio; Mac mini\n\n\n");
  std::ostringstream out;
  const auto statement = ask_statement({}, &in, out);
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
  const auto missing = ask_statement({}, &ends, out);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message().find("--hardware"), std::string::npos);
  std::istringstream loop("loopback\nVM\nme\n\n");
  const auto local = ask_statement({}, &loop, out);
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
    const auto statement = ask_statement(args, nullptr, out);
    ASSERT_FALSE(statement) << flag << value;
    EXPECT_NE(statement.error().message().find(flag), std::string::npos);
  }
}

// Whoever ships one more scenario names it there, or its runs are published as `own`.
TEST(Submit, KnowsTheScenariosThatShip) {
  const std::string root = PLUMBLINE_SOURCE_DIR;
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

// ---- signatures ----

class Signed : public testing::Test {
 protected:
  void SetUp() override {
    if (find_program("ssh-keygen").empty()) GTEST_SKIP() << "no ssh-keygen here (openssh-client)";
    for (const char* name : {"ann", "eve"}) {
      const Finished made = run_program({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C",
                                         "seed@zebra7", "-f", folder_.path(name)});
      ASSERT_EQ(made.status, 0) << made.err;
    }
    const std::string key = read_file(folder_.path("ann.pub"));
    folder_.write("allowed", "ann " + key);
  }
  Finished verify(const std::string& file) {
    return run_program(
        plumbline_argv({"verify", "--allowed-signers", folder_.path("allowed"), file}));
  }
  ScratchFolder folder_;
};

TEST_F(Signed, ByAnAllowedSignerByAStrangerAndByNobody) {
  const std::string file = submitted(folder_, {"--sign", folder_.path("ann")});
  Finished finished = verify(file);
  EXPECT_EQ(finished.status, 0) << finished.out;
  EXPECT_NE(finished.out.find("signed by ann"), std::string::npos) << finished.out;
  EXPECT_EQ(lower(read_file(file)).find("zebra7"), std::string::npos);
  const std::string stranger =
      submitted(folder_, {"--sign", folder_.path("eve"), "--notes", "other"});
  finished = verify(stranger);
  EXPECT_EQ(finished.status, 0) << finished.out;
  EXPECT_NE(finished.out.find("flag signer: signature is sound, but its key SHA256:"),
            std::string::npos)
      << finished.out;
  // The signature of another content.
  json moved = json::parse(read_file(stranger));
  moved["signature"] = json::parse(read_file(file))["signature"];
  std::ofstream(stranger) << bundle_text(moved);
  finished = verify(stranger);
  EXPECT_EQ(finished.status, 3) << finished.out;
  EXPECT_NE(finished.out.find("signature: signature does not fit the content"), std::string::npos)
      << finished.out;
  moved["signature"] = "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n";
  std::ofstream(stranger) << bundle_text(moved);
  EXPECT_EQ(verify(stranger).status, 3);
  moved["signature"] = nullptr;
  std::ofstream(stranger) << bundle_text(moved);
  EXPECT_NE(verify(stranger).out.find("unsigned"), std::string::npos);
}

TEST_F(Signed, ThePageSaysWho) {
  const std::string file = submitted(folder_, {"--sign", folder_.path("ann")});
  const std::string page = folder_.path("RESULTS.md");
  const Finished finished =
      run_program(plumbline_argv({"results", "--folder", folder_.path("community"), "--page", page,
                                  "--allowed-signers", folder_.path("allowed")}));
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(read_file(page).find("| signed by ann |"), std::string::npos) << read_file(page);
}

TEST_F(Signed, AKeyThatCannotSignIsAnErrorAndNothingIsWritten) {
  const std::string run = write_run(folder_, samples::seeded_run());
  const std::string locked = folder_.path("locked");
  run_program({"ssh-keygen", "-q", "-t", "ed25519", "-N", "passphrase", "-f", locked});
  for (const std::string& key :
       {folder_.path("none"), folder_.write("garbage", "no key"), locked}) {
    const Finished finished =
        run_program(submit_argv(run, folder_.path("community"), {"--yes", "--sign", key}));
    EXPECT_EQ(finished.status, 1) << finished.err;
    EXPECT_FALSE(fs::exists(folder_.path("community")));
  }
}

// ---- the page ----

TEST(Results, UpdateTwiceGivesTheSameBytesAndCheckNoticesEveryChange) {
  const ScratchFolder folder;
  const std::string file = submitted(folder);
  const std::string page = folder.path("RESULTS.md");
  const auto results = [&](const std::string& verb) {
    return run_program(
        plumbline_argv({"results", verb, "--folder", folder.path("community"), "--page", page}));
  };
  EXPECT_EQ(results("check").status, 3);
  EXPECT_EQ(results("update").status, 0);
  const std::string first = read_file(page);
  EXPECT_NE(first.find("](community/" + fs::path(file).filename().string() + ")"),
            std::string::npos);
  fs::remove(page);
  EXPECT_EQ(results("update").status, 0);
  EXPECT_EQ(read_file(page), first);
  EXPECT_EQ(results("check").status, 0);
  std::ofstream(page, std::ios::app) << "| by hand |\n";
  const Finished checked = results("check");
  EXPECT_EQ(checked.status, 3);
  EXPECT_NE(checked.err.find("results update"), std::string::npos);
  EXPECT_EQ(results("update").status, 0);
  std::string text = read_file(file);
  text.replace(text.find("Mac mini"), 8, "Mac maxi");
  std::ofstream(file) << text;
  for (const char* verb : {"check", "update"}) {
    const Finished broken = results(verb);
    EXPECT_EQ(broken.status, 3);
    EXPECT_NE(broken.err.find("content.statement.hardware[0]"), std::string::npos) << broken.err;
    EXPECT_EQ(read_file(page), first);
  }
  EXPECT_EQ(results("chekc").status, 1);
}

// Two pull requests add a bundle each and update the page; git joins them without a conflict, and
// the page made anew is the one that the folder gives.
TEST(Results, TwoPullRequestsDoNotConflict) {
  if (find_program("git").empty()) GTEST_SKIP() << "no git here";
  const ScratchFolder folder;
  const std::string repository = folder.path("repository");
  const auto git = [&](const std::vector<std::string>& words) {
    std::vector<std::string> argv = {"git",
                                     "-C",
                                     repository,
                                     "-c",
                                     "user.name=t",
                                     "-c",
                                     "user.email=t@t",
                                     "-c",
                                     "commit.gpgsign=false"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Finished finished = run_program(argv);
    EXPECT_EQ(finished.status, 0) << words[0] << finished.out << finished.err;
  };
  const auto results = [&](const char* verb) {
    return run_program(
               plumbline_argv({"results", verb, "--folder", repository + "/reports/community",
                               "--page", repository + "/RESULTS.md"}))
        .status;
  };
  const auto add = [&](const std::vector<Record>& run, const char* hardware) {
    written(run_program(plumbline_argv({"submit", write_run(folder, run), "--link-kind",
                                        "ethernet-10g", "--cable", "c", "--hardware", hardware,
                                        "--out", repository + "/reports/community", "--yes"})));
    EXPECT_EQ(results("update"), 0);
    git({"add", "-A"});
    git({"commit", "-qm", hardware});
  };
  fs::create_directories(repository + "/reports/community");
  git({"init", "-q", "-b", "main"});
  fs::copy(std::string(PLUMBLINE_SOURCE_DIR) + "/.gitattributes", repository + "/.gitattributes");
  EXPECT_EQ(results("update"), 0);
  git({"add", "-A"});
  git({"commit", "-qm", "empty"});
  std::vector<Record> run = samples::seeded_run();
  git({"checkout", "-qb", "one"});
  add({run[0], run[3]}, "machine one");
  git({"checkout", "-qb", "two", "main"});
  add({run[1], run[2], run[4]}, "machine two");
  git({"merge", "-q", "-m", "both", "one"});
  EXPECT_EQ(results("update"), 0);
  EXPECT_EQ(results("check"), 0);
  const std::string page = read_file(repository + "/RESULTS.md");
  EXPECT_NE(page.find("machine one"), std::string::npos);
  EXPECT_NE(page.find("machine two"), std::string::npos);
  EXPECT_EQ(page.find("<<<<"), std::string::npos);
}

// What CI asks of every change.
TEST(Results, TheRepositorysPageIsWhatItsFolderGives) {
  const std::string root = PLUMBLINE_SOURCE_DIR;
  const Finished finished =
      run_program(plumbline_argv({"results", "check", "--folder", root + "/reports/community",
                                  "--page", root + "/RESULTS.md"}));
  EXPECT_EQ(finished.status, 0) << finished.err;
}

}  // namespace
}  // namespace plumbline
