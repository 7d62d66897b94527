// submit, verify and results as a user runs them, signatures and two pull requests included.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
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
    EXPECT_EQ(static_cast<bool>(ask_statement(args, nullptr, out)), fits) << count;
  }
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
  const std::string text = read_file(file);
  EXPECT_EQ(lower(text).find("zebra7"), std::string::npos);
  fs::remove(file);  // or the same run would stand there twice
  const json by_ann = json::parse(text)["signature"];
  const std::string stranger =
      submitted(folder_, {"--sign", folder_.path("eve"), "--notes", "other"});
  finished = verify(stranger);
  EXPECT_EQ(finished.status, 0) << finished.out;
  EXPECT_NE(finished.out.find("flag signer: signature is sound, but its key SHA256:"),
            std::string::npos)
      << finished.out;
  // The signature of another content.
  json moved = json::parse(read_file(stranger));
  moved["signature"] = by_ann;
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

// The key's first line is for another namespace, or names two principals.
TEST_F(Signed, EveryLineOfTheKeyCounts) {
  const std::string file = submitted(folder_, {"--sign", folder_.path("ann")});
  const std::string key = read_file(folder_.path("ann.pub"));
  for (const std::string& lines :
       {"zed namespaces=\"git\" " + key + "ann namespaces=\"plumbline-bundle\" " + key,
        "# comment\nann,ann@example.org " + key}) {
    folder_.write("allowed", lines);
    const Finished finished = verify(file);
    EXPECT_NE(finished.out.find("signed by ann"), std::string::npos) << lines << finished.out;
  }
  folder_.write("allowed", "zed namespaces=\"git\" " + key);
  EXPECT_NE(verify(file).out.find("signed by an unknown key"), std::string::npos);
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

// A repository with an empty page, and two branches that bring a bundle each.
class PullRequests : public testing::Test {
 protected:
  void SetUp() override {
    if (find_program("git").empty()) GTEST_SKIP() << "no git here";
    fs::create_directories(repository_ + "/reports/community");
    git({"init", "-q", "-b", "main"});
    EXPECT_EQ(results({"update"}).status, 0);
    commit("empty");
  }
  void git(const std::vector<std::string>& words) {
    std::vector<std::string> argv = {"git",
                                     "-C",
                                     repository_,
                                     "-c",
                                     "user.name=t",
                                     "-c",
                                     "user.email=t@t",
                                     "-c",
                                     "commit.gpgsign=false"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Finished finished = run_program(argv);
    EXPECT_EQ(finished.status, 0) << words[0] << finished.out << finished.err;
  }
  void commit(const char* message) {
    git({"add", "-A"});
    git({"commit", "-qm", message});
  }
  Finished results(std::vector<std::string> words) {
    words.insert(words.begin(), "results");
    for (const std::string& word : {std::string("--folder"), repository_ + "/reports/community",
                                    std::string("--page"), page_}) {
      words.push_back(word);
    }
    return run_program(plumbline_argv(words));
  }
  std::string add(const std::vector<Record>& run, const char* hardware) {
    return written(run_program(plumbline_argv(
        {"submit", write_run(folder_, run), "--link-kind", "ethernet-10g", "--cable", "c",
         "--hardware", hardware, "--out", repository_ + "/reports/community", "--yes"})));
  }
  // main, one and two, which begin at main.
  void two_branches(bool update) {
    const std::vector<Record> run = samples::seeded_run();
    git({"checkout", "-qb", "one"});
    add({run[0], run[3]}, "machine one");
    if (update) {
      EXPECT_EQ(results({"update"}).status, 0);
    }
    commit("one");
    git({"checkout", "-qb", "two", "main"});
    add({run[1], run[2], run[4]}, "machine two");
    if (update) {
      EXPECT_EQ(results({"update"}).status, 0);
    }
    commit("two");
  }
  ScratchFolder folder_;
  std::string repository_ = folder_.path("repository"), page_ = repository_ + "/RESULTS.md";
};

// As on GitHub, whose server knows no merge drivers of .gitattributes: bundles only, so no
// conflict; the page is made anew on main.
TEST_F(PullRequests, BringBundlesOnlyAndDoNotConflict) {
  two_branches(false);
  Finished checked = results({"check", "--allow-new"});
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_NE(checked.out.find("without 1 new bundle"), std::string::npos) << checked.out;
  EXPECT_EQ(results({"check"}).status, 3);
  git({"checkout", "-q", "main"});
  for (const char* branch : {"one", "two"}) git({"merge", "-q", "--no-ff", "-m", branch, branch});
  EXPECT_EQ(results({"check"}).status, 3);
  checked = results({"check", "--allow-new"});
  EXPECT_NE(checked.out.find("without 2 new bundles"), std::string::npos) << checked.out;
  EXPECT_EQ(results({"update"}).status, 0);
  EXPECT_EQ(results({"check"}).status, 0);
  const std::string page = read_file(page_);
  EXPECT_NE(page.find("machine one"), std::string::npos);
  EXPECT_NE(page.find("machine two"), std::string::npos);
}

// On one's own machine, where git reads .gitattributes.
TEST_F(PullRequests, LocalBranchesThatUpdatedThePageAreJoined) {
  fs::copy(std::string(PLUMBLINE_SOURCE_DIR) + "/.gitattributes", repository_ + "/.gitattributes");
  commit("attributes");
  two_branches(true);
  git({"merge", "-q", "-m", "both", "one"});
  EXPECT_EQ(results({"update"}).status, 0);
  EXPECT_EQ(results({"check"}).status, 0);
  EXPECT_EQ(read_file(page_).find("<<<<"), std::string::npos);
}

// New bundles may be missing on the page; nothing else may.
TEST_F(PullRequests, AllowNewAllowsNothingElse) {
  const std::vector<Record> run = samples::seeded_run();
  const std::string old = add({run[0], run[3]}, "machine one");
  EXPECT_EQ(results({"update"}).status, 0);
  const std::string good = read_file(page_);
  const std::string added = add({run[1], run[2]}, "machine two");
  EXPECT_EQ(results({"check", "--allow-new"}).status, 0);
  const auto check_page = [&](const std::string& text) {
    std::ofstream(page_, std::ios::binary) << text;
    return results({"check", "--allow-new"});
  };
  const size_t row = good.find("\n| pingpong");
  const size_t end = good.find('\n', row + 1);
  ASSERT_NE(row, std::string::npos);
  std::string changed = good;
  changed[good.find("2026-11-20", row) + 9] = '1';
  for (const std::string& page :
       {good.substr(0, row) + good.substr(end), good.substr(0, end) + good.substr(row), changed,
        good + "\n", std::string()}) {
    const Finished checked = check_page(page);
    EXPECT_EQ(checked.status, 3) << page;
    EXPECT_NE(checked.err.find("results update"), std::string::npos) << checked.err;
  }
  EXPECT_EQ(check_page(good).status, 0);
  fs::remove(old);
  const Finished gone = check_page(good);
  EXPECT_EQ(gone.status, 3);
  EXPECT_NE(gone.err.find("which is not in"), std::string::npos) << gone.err;
}

// What CI asks of every change. GitHub sets this variable for pull requests alone, whose new
// bundles get onto the page after they are merged.
TEST(Results, TheRepositorysPageIsWhatItsFolderGives) {
  const std::string root = PLUMBLINE_SOURCE_DIR;
  const char* pull_request = std::getenv("GITHUB_HEAD_REF");
  std::vector<std::string> words = {
      "results", "check", "--folder", root + "/reports/community", "--page", root + "/RESULTS.md"};
  if (pull_request != nullptr && *pull_request != '\0') words.emplace_back("--allow-new");
  const Finished finished = run_program(plumbline_argv(words));
  EXPECT_EQ(finished.status, 0) << finished.err;
}

}  // namespace
}  // namespace plumbline
