// Signatures, RESULTS.md and two pull requests, as users and maintainers meet them.
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "core/command.h"
#include "core/json.h"
#include "reports/publish/bundle.h"
#include "tests/cli/submit_support.h"
#include "tests/support/places.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Signed : public testing::Test {
 protected:
  void SetUp() override {
    if (find_program("ssh-keygen").empty()) GTEST_SKIP() << "no ssh-keygen here (openssh-client)";
    if (getpwuid(getuid()) == nullptr) GTEST_SKIP() << "ssh-keygen wants a user of this system";
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

TEST(Results, ThePictureIsMadeAndCheckedWithThePage) {
  const ScratchFolder folder;
  const std::string file = submitted(folder);
  const std::string page = folder.path("RESULTS.md"), chart = folder.path("RESULTS.svg");
  const auto results = [&](const std::string& verb) {
    return run_program(
        plumbline_argv({"results", verb, "--folder", folder.path("community"), "--page", page}));
  };
  const Finished made = results("update");
  EXPECT_NE(made.out.find(chart + " is written from"), std::string::npos) << made.out;
  const std::string first = read_file(chart);
  EXPECT_EQ(first.rfind("<svg ", 0), 0u) << first;
  EXPECT_NE(read_file(page).find("](RESULTS.svg)"), std::string::npos);
  fs::remove(chart);
  const Finished missing = results("check");
  EXPECT_EQ(missing.status, 3);
  EXPECT_NE(missing.err.find("RESULTS.svg is not what"), std::string::npos) << missing.err;
  EXPECT_EQ(results("update").status, 0);
  EXPECT_EQ(read_file(chart), first);
  EXPECT_EQ(results("check").status, 0);
  std::ofstream(chart, std::ios::app) << "<!-- by hand -->\n";
  EXPECT_EQ(results("check").status, 3);
  EXPECT_EQ(results("update").status, 0);
  EXPECT_EQ(read_file(chart), first);
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
  fs::copy(test::source_dir() + "/.gitattributes", repository_ + "/.gitattributes");
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
  const std::string chart = repository_ + "/RESULTS.svg";
  std::ofstream(chart, std::ios::app) << "<!-- by hand -->\n";
  EXPECT_EQ(check_page(good).status, 3);
  fs::remove(chart);  // main draws it anew; nobody has to bring it
  EXPECT_EQ(check_page(good).status, 0);
  fs::remove(old);
  const Finished gone = check_page(good);
  EXPECT_EQ(gone.status, 3);
  EXPECT_NE(gone.err.find("which is not in"), std::string::npos) << gone.err;
}

// What CI asks of every change. GitHub sets this variable for pull requests alone, whose new
// bundles get onto the page after they are merged.
TEST(Results, TheRepositorysPageIsWhatItsFolderGives) {
  const std::string root = test::source_dir();
  const char* pull_request = std::getenv("GITHUB_HEAD_REF");
  std::vector<std::string> words = {
      "results", "check", "--folder", root + "/reports/community", "--page", root + "/RESULTS.md"};
  if (pull_request != nullptr && *pull_request != '\0') words.emplace_back("--allow-new");
  const Finished finished = run_program(plumbline_argv(words));
  EXPECT_EQ(finished.status, 0) << finished.err;
}

}  // namespace
}  // namespace plumbline
