// The scripts of push, run by a real shell in folders of the test, and what is text_of out of them.
#include "launch/push.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/command.h"
#include "core/encode.h"
#include "core/file.h"
#include "core/shell_words.h"
#include "launch/line_io.h"
#include "launch/ssh.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// A program that says its build, as plumbline does, and nothing of which is checked but its bytes.
std::string program_of(const std::string& build) {
  return "#!/bin/sh\necho plumbline 9\necho 'build " + build + "'\n";
}
std::string hash_of(const std::string& content) { return to_hex(sha256(content)); }

std::string platform() {
  utsname names{};
  uname(&names);
  return std::string(names.sysname) + " " + names.machine;
}

void write_program(const fs::path& path, const std::string& text, bool executable = true) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  fs::permissions(path, executable ? fs::perms::owner_all : fs::perms::owner_read);
}
std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Push : public testing::Test {
 protected:
  Push() { fs::create_directories(tools_); }

  // As sshd would start it: the words in one line, text_of by a shell.
  CommandResult at_host(const std::vector<std::string>& words, const std::string& input = "") {
    std::vector<std::string> argv = {"env",
                                     "-i",
                                     "PATH=" + path_,
                                     "HOME=" + home_,
                                     "XDG_CACHE_HOME=" + cache_,
                                     shell_,
                                     "-c",
                                     "exec " + shell_line(words)};
    CommandOptions options;
    options.input = input;
    const auto done = run_command(argv, Deadline::after_ms(20'000), options);
    EXPECT_TRUE(done) << done.error().message();
    last_ = done ? *done : CommandResult{};
    return last_;
  }
  PushAnswer look(const PushQuestion& question) {
    return read_push_answer(at_host(push_look_words(question)).out);
  }
  PushAnswer look(const std::string& hash, bool accept_own = false) {
    return look(
        {accept_own, "1-b", (folder_.path() / "own plumbline").string(), {{platform(), hash}}});
  }
  PushAnswer send(const std::string& content, const std::string& hash,
                  const std::string& input = "as the content", const std::string& build = "1-b") {
    const PushShipment shipment{hash, build, content.size(), "id" + std::to_string(getpid())};
    return read_push_answer(
        at_host(push_send_words(shipment), input == "as the content" ? content : input).out);
  }
  // A tool of the host that answers as the test wants.
  void tool(const std::string& name, const std::string& script) {
    write_program(tools_ / name, "#!/bin/sh\n" + script + "\n");
  }
  // Everything below the caches, temporary files too.
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    std::error_code none;
    for (const auto& entry : fs::recursive_directory_iterator(home_, none)) {
      if (!entry.is_directory()) found.push_back(entry.path().string());
    }
    return found;
  }
  fs::path place(const std::string& hash) const {
    return fs::path(home_) / ".cache" / "plumbline" / hash / "plumbline";
  }

  const NoSigpipe no_sigpipe_;  // some scripts end before they have text_of what they are sent
  TemporaryFolder folder_;
  const fs::path tools_ = folder_.path() / "tools";
  std::string path_ = tools_.string() + ":/usr/bin:/bin:/usr/sbin:/sbin";
  std::string home_ = make("home"), cache_, shell_ = "sh";
  CommandResult last_;
  const std::string program_ = program_of("1-b"), hash_ = hash_of(program_);

  std::string make(const std::string& name) {
    fs::create_directories(folder_.path() / name);
    return (folder_.path() / name).string();
  }
};

TEST_F(Push, SendsOnceAndFindsItAgain) {
  PushAnswer answer = look(hash_);
  EXPECT_EQ(answer.word, "send") << last_.out << last_.err;
  EXPECT_EQ(answer.text, platform());
  EXPECT_FALSE(answer.present);
  answer = send(program_, hash_);
  EXPECT_EQ(answer.word, "there") << last_.out << last_.err;
  EXPECT_EQ(answer.text, place(hash_));
  EXPECT_EQ(text_of(place(hash_)), program_);
  EXPECT_EQ(files().size(), 1U);  // nothing temporary is left
  EXPECT_EQ(fs::status(place(hash_)).permissions(), fs::perms::owner_all);
  answer = look(hash_);
  EXPECT_EQ(answer.word, "there");
  EXPECT_EQ(answer.text, place(hash_));
}

TEST_F(Push, WorksInFoldersWithHostileNames) {
  for (const char* name : {"with space", "it's", "$(touch pwned)", "a;b&c", "*", "-rf", "\"q\"",
                           "back\\slash", "`id`", "umlaut \xc3\xa4", "~root", "%s%n"}) {
    home_ = make(std::string("homes/") + name);
    EXPECT_EQ(look(hash_).word, "send") << name << last_.err;
    const PushAnswer sent = send(program_, hash_);
    EXPECT_EQ(sent.word, "there") << name << last_.out << last_.err;
    EXPECT_EQ(sent.text, place(hash_)) << name;
    EXPECT_EQ(look(hash_).text, place(hash_)) << name << last_.err;
    EXPECT_EQ(files().size(), 1U) << name;
  }
  EXPECT_FALSE(fs::exists("pwned"));
}

TEST_F(Push, EveryShellOfAnAccountWillDo) {
  int tried = 0;
  for (const char* shell : {"bash", "dash", "zsh", "ksh", "fish", "tcsh", "csh"}) {
    shell_ = find_program(shell);
    if (shell_.empty()) continue;
    ++tried;
    home_ = make(std::string("home of ") + shell);
    EXPECT_EQ(look(hash_).word, "send") << shell << last_.err;
    EXPECT_EQ(send(program_, hash_).word, "there") << shell << last_.out << last_.err;
  }
  EXPECT_GE(tried, 1);
}

TEST_F(Push, TheToolsOfBusyboxWillDo) {
  const std::string busybox = find_program("busybox");
  if (busybox.empty()) GTEST_SKIP() << "busybox is not installed here";
  for (const char* name : {"sh", "sha256sum", "ls", "id", "cat", "mkdir", "rm", "rmdir", "wc",
                           "uname", "mv", "touch", "chmod", "grep", "tail"}) {
    fs::create_symlink(busybox, tools_ / name);
  }
  path_ = tools_.string();
  shell_ = tools_ / "sh";
  EXPECT_EQ(look(hash_).word, "send") << last_.err;
  EXPECT_EQ(send(program_, hash_).word, "there") << last_.out << last_.err;
  EXPECT_EQ(look(hash_).word, "there") << last_.err;
}

TEST_F(Push, TheWordsAreOneLineWithoutAHistorySign) {
  for (const auto& words : {push_look_words({}), push_send_words({})}) {
    const std::string line = shell_line(words);
    EXPECT_THAT(line, Not(HasSubstr("\n")));
    EXPECT_THAT(line, Not(HasSubstr("!")));
    EXPECT_THAT(line, Not(HasSubstr("'\\''")));
  }
}

TEST_F(Push, FollowsTheCacheFolderOfTheAccountWhenItIsAbsolute) {
  cache_ = make("elsewhere");
  EXPECT_EQ(send(program_, hash_).text, cache_ + "/plumbline/" + hash_ + "/plumbline");
  cache_ = "relative";
  EXPECT_EQ(send(program_, hash_).text, place(hash_));
}

TEST_F(Push, AProgramOfTheSameBuildIsLeftAlone) {
  const fs::path own = folder_.path() / "own plumbline";
  write_program(own, program_of("1-b"));
  EXPECT_EQ(look(hash_, true).word, "own");
  EXPECT_EQ(look(hash_, false).word, "send");  // push = always
  EXPECT_TRUE(look(hash_, false).present);
  write_program(own, program_of("1-bc"));
  EXPECT_EQ(look(hash_, true).word, "send");
  EXPECT_TRUE(look(hash_, true).present);
  write_program(own, "#!/bin/sh\necho 'build 1-b'; exit 1\n");
  EXPECT_FALSE(look(hash_, true).present);
  write_program(own, "\x7f nonsense", false);
  EXPECT_EQ(look(hash_, true).word, "send");
  EXPECT_FALSE(look(hash_, true).present);
}

TEST_F(Push, ASpoiledCopyIsNotUsedAndIsReplaced) {
  ASSERT_EQ(send(program_, hash_).word, "there");
  write_program(place(hash_), program_ + "touch " + home_ + "/ran\n");
  EXPECT_EQ(look(hash_).word, "send");
  EXPECT_EQ(send(program_, hash_).word, "there");
  EXPECT_EQ(text_of(place(hash_)), program_);
  EXPECT_EQ(look(hash_).word, "there");
  EXPECT_FALSE(fs::exists(home_ + "/ran"));
}

TEST_F(Push, WhatIsCutOffOrSpoiledOnItsWayIsNeverStarted) {
  const std::string spiteful = "#!/bin/sh\ntouch " + home_ + "/ran\necho build 1-b\n";
  for (const std::string& input : {program_.substr(0, 10), program_ + "x", spiteful}) {
    const PushAnswer answer = send(program_, hash_, input);
    EXPECT_EQ(answer.word, "sum") << last_.out << last_.err;
    EXPECT_THAT(answer.text,
                HasSubstr(std::to_string(input.size()) + " of " + std::to_string(program_.size())));
    EXPECT_TRUE(files().empty());
  }
}

TEST_F(Push, AProgramOfAnotherBuildIsNotKept) {
  EXPECT_EQ(send(program_, hash_, program_, "2-c").word, "run");
  EXPECT_TRUE(files().empty());
}

TEST_F(Push, AFullDiskIsNamed) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  tool("cat", "exec /bin/cat >/dev/full");
  const PushAnswer answer = send(program_, hash_);
  EXPECT_EQ(answer.word, "write");
  const std::string said = push_failure("h2", answer).message();
  EXPECT_THAT(said, HasSubstr("No space left on device"));
  EXPECT_THAT(said, HasSubstr("h2 cannot store plumbline"));
  EXPECT_TRUE(files().empty());
}

TEST_F(Push, AHomeThatCannotBeWrittenIsNamed) {
  home_ = folder_.path() / "file";
  write_program(home_, "no folder");
  EXPECT_EQ(look(hash_).word, "send");
  const PushAnswer answer = send(program_, hash_);
  EXPECT_EQ(answer.word, "folder") << last_.out;
  EXPECT_THAT(push_failure("h2", answer).message(), HasSubstr("Not a directory"));
}

TEST_F(Push, ADiskThatStartsNoProgramsIsNamed) {
  tool("chmod", "exec /bin/chmod 600 \"$2\"");  // root may start what has any execute bit
  const PushAnswer answer = send(program_, hash_);
  EXPECT_EQ(answer.word, "run");
  EXPECT_THAT(push_failure("h2", answer).message(), HasSubstr("noexec"));
  EXPECT_THAT(push_failure("h2", answer).message(), HasSubstr("ermission denied"));
  EXPECT_TRUE(files().empty());
}

TEST_F(Push, AFolderThatOthersMayWriteIsNotTrusted) {
  ASSERT_EQ(send(program_, hash_).word, "there");
  for (const fs::path& shared :
       {place(hash_).parent_path(), place(hash_).parent_path().parent_path()}) {
    fs::permissions(shared, fs::perms::others_write, fs::perm_options::add);
    EXPECT_EQ(look(hash_).word, "send");
    EXPECT_EQ(send(program_, hash_).word, "owner");
    fs::permissions(shared, fs::perms::others_write, fs::perm_options::remove);
    EXPECT_EQ(look(hash_).word, "there");
  }
}

// Whoever can write_program a folder above can put another one in the place of ours.
TEST_F(Push, AFolderAboveThatOthersMayWriteIsNotTrusted) {
  ASSERT_EQ(send(program_, hash_).word, "there");
  for (const fs::path& shared : {fs::path(home_) / ".cache", fs::path(home_)}) {
    for (const fs::perms open : {fs::perms::others_write, fs::perms::group_write}) {
      fs::permissions(shared, open, fs::perm_options::add);
      EXPECT_EQ(look(hash_).word, "send") << shared;
      const PushAnswer answer = send(program_, hash_);
      EXPECT_EQ(answer.word, "above") << last_.out;
      EXPECT_EQ(answer.text, shared.string());
      EXPECT_THAT(push_failure("h2", answer).message(), HasSubstr("chmod go-w " + shared.string()));
      // As /tmp: nobody can replace what is not theirs.
      fs::permissions(shared, fs::perms::sticky_bit, fs::perm_options::add);
      EXPECT_EQ(look(hash_).word, "there") << shared;
      fs::permissions(shared, open | fs::perms::sticky_bit, fs::perm_options::remove);
      EXPECT_EQ(look(hash_).word, "there") << shared;
    }
  }
}

TEST_F(Push, WithoutAHomeThereIsNoPlace) {
  for (const char* home : {"", "relative", "/tmp/two\nlines"}) {
    home_ = home;
    EXPECT_EQ(look(hash_).word, "home") << home << last_.out;
    EXPECT_EQ(send(program_, hash_).word, "home") << home << last_.out;
  }
}

TEST_F(Push, WithoutAToolForTheChecksumNothingIsKept) {
  // Only what the script needs besides, so that none of the three is found.
  for (const char* name : {"ls", "id", "cat", "mkdir", "rm", "rmdir", "wc"}) {
    fs::create_symlink(find_program(name), tools_ / name);
  }
  const PushShipment shipment{hash_, "1-b", program_.size(), "id1"};
  std::vector<std::string> argv = {"env", "-i", "PATH=" + tools_.string(), "HOME=" + home_};
  for (const std::string& word : push_send_words(shipment)) {
    argv.push_back(word == "sh" ? find_program("sh") : word);
  }
  CommandOptions options;
  options.input = program_;
  const auto done = run_command(argv, Deadline::after_ms(20'000), options);
  ASSERT_TRUE(done);
  const PushAnswer answer = read_push_answer(done->out);
  EXPECT_EQ(answer.word, "tool") << done->out << done->err;
  EXPECT_THAT(push_failure("h2", answer).message(), HasSubstr("sha256sum"));
  EXPECT_TRUE(files().empty());
}

TEST_F(Push, OtherSystemsAndMachinesAreNamed) {
  const std::string uname = "if [ $1 = -s ]; then echo %; else echo riscv64; fi";
  for (const char* system : {"Linux", "Darwin", "FreeBSD"}) {
    tool("uname", std::string(uname).replace(uname.find('%'), 1, system));
    const PushAnswer answer = look(hash_);
    EXPECT_EQ(answer.word, "platform") << last_.out << last_.err;
    const Error error = push_failure("h2", answer);
    EXPECT_EQ(error.cause, "ssh.no_binary");
    EXPECT_THAT(error.message(), HasSubstr(std::string("h2 runs ") + system + " riscv64"));
    EXPECT_THAT(error.message(), HasSubstr("\"binary\""));
  }
}

// The same machine under another system is another program.
TEST_F(Push, ASystemIsAskedForItsOwnProgram) {
  tool("uname", "if [ $1 = -s ]; then echo Darwin; else echo arm64; fi");
  PushQuestion question{false, "1-b", "/nowhere", {{"Linux arm64", "none"}}};
  EXPECT_EQ(look(question).word, "platform") << last_.out;
  question.hashes["Darwin arm64"] = hash_;
  PushAnswer answer = look(question);
  EXPECT_EQ(answer.word, "send") << last_.out << last_.err;
  EXPECT_EQ(answer.text, "Darwin arm64");
  EXPECT_EQ(send(program_, hash_).word, "there") << last_.out << last_.err;
  answer = look(question);
  EXPECT_EQ(answer.word, "there");
  EXPECT_EQ(answer.text, place(hash_));
}

// What a Mac has: shasum, no timeout; and `ls` marks folders that have attributes.
TEST_F(Push, TheToolsOfAMacWillDo) {
  if (find_program("shasum").empty()) GTEST_SKIP() << "shasum (perl) is not installed here";
  for (const char* name : {"sh", "shasum", "id", "cat", "mkdir", "rm", "rmdir", "uname", "mv",
                           "touch", "chmod", "grep", "tail", "perl"}) {
    fs::create_symlink(find_program(name), tools_ / name);
  }
  const std::string ls = find_program("ls");
  tool("ls", ls + " \"$@\" | " + find_program("sed") + " 's/^\\([dl-]........[xtT-]\\) /\\1@ /'");
  tool("wc", find_program("wc") + " \"$@\" | " + find_program("sed") + " 's/^/       /'");
  path_ = tools_.string();
  shell_ = tools_ / "sh";
  EXPECT_EQ(look(hash_).word, "send") << last_.err;
  EXPECT_EQ(send(program_, hash_, "short").word, "sum") << last_.out << last_.err;
  EXPECT_EQ(send(program_, hash_).word, "there") << last_.out << last_.err;
  EXPECT_EQ(look(hash_).word, "there") << last_.err;
  EXPECT_THAT(last_.err, testing::IsEmpty());
}

TEST_F(Push, TwoAtOnceDoNoHarm) {
  const std::string large = program_ + std::string(3 << 20, '#');
  const std::string hash = hash_of(large);
  std::vector<std::thread> threads;
  std::vector<std::string> words(6);
  for (size_t i = 0; i < words.size(); ++i) {
    threads.emplace_back([&, i] {
      const PushShipment shipment{hash, "1-b", large.size(), "id" + std::to_string(i)};
      std::vector<std::string> argv = {"env", "HOME=" + home_, "XDG_CACHE_HOME="};
      const auto send = push_send_words(shipment);
      argv.insert(argv.end(), send.begin(), send.end());
      CommandOptions options;
      options.input = large;
      const auto done = run_command(argv, Deadline::after_ms(30'000), options);
      words[i] = done ? read_push_answer(done->out).word : done.error().message();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(words, std::vector<std::string>(6, "there"));
  EXPECT_EQ(text_of(place(hash)), large);
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(Push, TheNewestFiveCopiesAreKept) {
  std::vector<std::string> hashes;
  for (int i = 0; i < 7; ++i) {
    const std::string program = program_ + "# " + std::to_string(i) + "\n";
    hashes.push_back(hash_of(program));
    ASSERT_EQ(send(program, hashes.back()).word, "there");
    // An hour older each, the first ones oldest.
    fs::last_write_time(place(hashes.back()).parent_path(),
                        fs::file_time_type::clock::now() - std::chrono::hours(10 - i));
    if (i != 4) continue;
    EXPECT_EQ(look(hashes[0]).word, "there");  // in use again: not the oldest any more
  }
  const auto kept = [&](size_t i) { return fs::exists(place(hashes[i])); };
  EXPECT_TRUE(kept(0));
  EXPECT_FALSE(kept(1));
  EXPECT_FALSE(kept(2));
  for (size_t i = 3; i < 7; ++i) EXPECT_TRUE(kept(i)) << i;
}

TEST(PushAnswers, WhatALoginShellPrintsBeforeIsOverread) {
  const PushAnswer answer =
      read_push_answer("Welcome, plumbline-push own yes\nplumbline-push there no /a b/c\n");
  EXPECT_EQ(answer.word, "there");
  EXPECT_FALSE(answer.present);
  EXPECT_EQ(answer.text, "/a b/c");
  for (const char* nothing :
       {"", "plumbline-push", "x plumbline-push own yes", "\n\n", "plumbline-push there",
        "plumbline-push there no", "plumbline-push there no relative",
        "plumbline-push there no /two\nlines"}) {
    EXPECT_EQ(read_push_answer(nothing).word, "") << nothing;
  }
  for (const char* cut : {"plumbline-push ", "plumbline-push \n", "plumbline-push x"}) {
    EXPECT_THAT(push_failure("h", read_push_answer(cut)).message(), HasSubstr("POSIX shell"));
  }
}

}  // namespace
}  // namespace plumbline
