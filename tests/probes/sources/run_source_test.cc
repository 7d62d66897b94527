#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/text.h"
#include "probes/sources/source.h"

namespace plumbline {
namespace {

const SourceRow* find_row(const std::string& name, const std::string& system) {
  for (const SourceRow& row : source_table()) {
    if (name == row.name && (system == row.system || std::string("any") == row.system)) return &row;
  }
  return nullptr;
}

using ::testing::HasSubstr;
using State = SourceOutput::State;

Status keep_text(const std::string& text, HostEvidence& host) {
  host.model = text;
  return {};
}
Status refuse(const std::string&, HostEvidence&) { return fail(ErrorCode::kProtocol, "no sense"); }

class RunSource : public ::testing::Test {
 public:
  RunSource() {
    std::string name = ::testing::TempDir() + "/run-source-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~RunSource() override { std::filesystem::remove_all(folder_); }

 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  SourceOutput run(const std::string& command, const std::string& needs = "", int ms = 5000) {
    return run_source(row(command, needs), Deadline::after_ms(ms));
  }
  SourceRow row(const std::string& command, const std::string& needs = "",
                const char* filter = "") {
    command_ = command;
    needs_ = needs;
    return {"test", "any", command_.c_str(), needs_.c_str(), filter, false, keep_text, ""};
  }
  std::string folder_, command_, needs_;
};

TEST_F(RunSource, RunsAProgramWithoutAShell) {
  const auto output = run("echo a b; $HOME *");
  EXPECT_EQ(output.state, State::kRead);
  EXPECT_EQ(output.text, "a b; $HOME *\n");
}

TEST_F(RunSource, TellsFailureAbsenceAndTime) {
  EXPECT_EQ(run("false").state, State::kFailed);
  EXPECT_THAT(run("false").why, HasSubstr("status 1"));
  EXPECT_EQ(run("no-such-program-here").state, State::kAbsent);
  const int64_t begin = monotonic_ns();
  const auto late = run("sleep 20", "", 100);
  EXPECT_EQ(late.state, State::kFailed);
  EXPECT_LT(monotonic_ns() - begin, 5 * kSecond);
  EXPECT_EQ(run("").state, State::kFailed);
  EXPECT_EQ(run("@unknown x").state, State::kFailed);
}

TEST_F(RunSource, ReadsFiles) {
  const auto a = write("a", "one\ntwo"), b = write("b", "three\n");
  EXPECT_EQ(run("@file " + a).text, "one\ntwo");
  EXPECT_EQ(run("@file " + folder_ + "/none").state, State::kAbsent);
  EXPECT_EQ(run("@files " + folder_ + "/* " + folder_ + "/none").text,
            a + ":one\n" + a + ":two\n" + b + ":three\n");
  EXPECT_EQ(run("@file " + folder_).state, State::kFailed);  // a folder
}

TEST_F(RunSource, AFileWithoutEndOrWriterDoesNotBlock) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(run("@file " + pipe).text, "");
  EXPECT_LE(run("@file /dev/zero").text.size(), size_t{1} << 21);
}

TEST_F(RunSource, ChecksNeeds) {
  const auto full = write("full", "filter\n"), empty = write("empty", "");
  EXPECT_EQ(run("echo x", "has " + full).state, State::kRead);
  EXPECT_TRUE(run("echo x", "has " + full).sure);
  EXPECT_EQ(run("echo x", "has " + empty).state, State::kSkipped);
  EXPECT_EQ(run("echo x", "has " + folder_ + "/none").state, State::kSkipped);
  EXPECT_EQ(run("echo x", "without sh").state, State::kSkipped);
  EXPECT_EQ(run("echo x", "without no-such-program").state, State::kRead);
  EXPECT_EQ(run("echo x", "has " + full + " and without sh").state, State::kSkipped);
  EXPECT_EQ(run("echo x", "has " + full + " and without no-such-program").state, State::kRead);
  EXPECT_EQ(run("echo x", "loaded no_such_module").state, State::kSkipped);
  EXPECT_EQ(run("echo x", "process no-such-process").state, State::kSkipped);
  EXPECT_EQ(run("echo x", "nonsense").state, State::kSkipped);
}

TEST_F(RunSource, WhatMayNotBeReadIsDenied) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const auto closed = write("closed", "filter\n");
  chmod(closed.c_str(), 0);
  EXPECT_EQ(run("echo x", "has " + closed).state, State::kDenied);
}

TEST_F(RunSource, OutputsBecomeEvidence) {
  HostEvidence host;
  SourceOutput output;
  output.state = State::kRead;
  output.text = "caf\xe9 \xf0\x9f\x98\x80";
  apply_output(row("x"), output, host);
  EXPECT_EQ(host.model, "caf? \xf0\x9f\x98\x80");
  EXPECT_TRUE(host.unreadable.empty());
  EXPECT_TRUE(host.filter_sources.empty());
}

TEST_F(RunSource, FiltersAreNotedWithTheirReasons) {
  const auto note = [&](State state, bool sure) {
    HostEvidence host;
    SourceOutput output;
    output.state = state;
    output.why = "Operation not permitted\nmore";
    output.sure = sure;
    apply_output(row("x", "", "nftables"), output, host);
    return host;
  };
  for (const State state : {State::kFailed, State::kDenied}) {
    const auto host = note(state, false);
    ASSERT_EQ(host.filter_sources.size(), 1U);
    EXPECT_TRUE(host.filter_sources[0].present);
    EXPECT_FALSE(host.filter_sources[0].readable);
    EXPECT_EQ(host.unreadable.at(0), "test: Operation not permitted");
  }
  EXPECT_FALSE(note(State::kSkipped, false).filter_sources.at(0).present);
  EXPECT_FALSE(note(State::kAbsent, false).filter_sources.at(0).present);
  EXPECT_TRUE(note(State::kAbsent, false).unreadable.empty());
  // Its tool is missing, but the kernel's part is at work: nothing may be said about its rules.
  EXPECT_TRUE(note(State::kAbsent, true).filter_sources.at(0).present);
  EXPECT_FALSE(note(State::kAbsent, true).filter_sources.at(0).readable);
  EXPECT_TRUE(note(State::kRead, false).filter_sources.at(0).readable);
}

TEST_F(RunSource, AParsersErrorMakesAFilterUnreadable) {
  HostEvidence host;
  SourceOutput output;
  output.state = State::kRead;
  SourceRow bad = row("x", "", "nftables");
  bad.parse = refuse;
  apply_output(bad, output, host);
  EXPECT_FALSE(host.filter_sources.at(0).readable);
  EXPECT_THAT(host.unreadable.at(0), HasSubstr("no sense"));
}

TEST(ToUtf8, RepairsOnlyWhatIsBroken) {
  EXPECT_EQ(valid_utf8("plain \xc3\xa9 \xe2\x82\xac"), "plain \xc3\xa9 \xe2\x82\xac");
  EXPECT_EQ(valid_utf8("\xc0\xaf \xed\xa0\x80 \xf5 \xe2\x82"), "?? ??? ? ??");
  EXPECT_EQ(valid_utf8(std::string("a\0b", 3)), std::string("a\0b", 3));
}

TEST(SourceTable, IsWellFormed) {
  const std::set<std::string> systems = {"linux", "macos", "any"};
  std::set<std::string> seen;
  for (const SourceRow& row : source_table()) {
    EXPECT_TRUE(systems.count(row.system)) << row.name;
    EXPECT_TRUE(seen.insert(std::string(row.system) + " " + row.name).second) << row.name;
    EXPECT_NE(row.parse, nullptr) << row.name;
    EXPECT_STRNE(row.help, "") << row.name;
    for (const std::string& text :
         {std::string(row.name), std::string(row.command), std::string(row.needs)}) {
      EXPECT_EQ(text.find_first_of("|'\"`$\\\n;&<>()"), std::string::npos) << text;
      EXPECT_EQ(text.find("  "), std::string::npos) << text;
    }
    EXPECT_EQ(std::string(row.name).find(' '), std::string::npos);
    EXPECT_EQ(find_row(row.name, row.system), &row);
  }
  EXPECT_EQ(find_row("ip-addr", "macos"), nullptr);
}

}  // namespace
}  // namespace plumbline
