// plumbline watch where its output is no terminal: lines, limits, lost hosts, exit codes.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <map>
#include <sstream>
#include <thread>

#include "core/clock.h"
#include "core/json.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr const char* kOneGone = R"({"hosts": [
  {"name": "here", "local": true, "data": "127.0.0.1/8"},
  {"name": "gone", "netns": "plumbline-no-such-namespace", "data": "10.99.99.1/24"}]})";

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(Json::parse(line));
  return out;
}

Finished watch(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "watch");
  return run_program(plumbline_argv(arguments));
}

TEST(Watch, LooksAsOftenAsItIsToldAndEveryLineHasRates) {
  const Finished done = watch({"--count", "2"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.err, "");
  const std::vector<Json> lines = lines_of(done.out);
  ASSERT_EQ(lines.size(), 2u) << done.out;
  for (const Json& line : lines) {
    EXPECT_EQ(line["schema"], 1);
    EXPECT_EQ(line["host"], "local0");
    EXPECT_EQ(line["lost"], nullptr);
    EXPECT_GT(line["interval_s"].get<double>(), 0.1);
    ASSERT_FALSE(line["links"].empty());
#ifdef __linux__
    EXPECT_TRUE(line["links"][0]["rx_Bps"].is_number()) << line;
    EXPECT_TRUE(line["retransmitted_per_s"].is_number()) << line;
#endif
  }
}

TEST(Watch, AHostThatCannotBeReachedIsLostAndTheOthersGoOn) {
  const ScratchFolder folder;
  const std::string file = folder.write("hosts.json", kOneGone);
  const Finished done = watch({"--hosts", file, "--count", "1", "--json"});
  EXPECT_EQ(done.status, 2) << done.err;
  const std::vector<Json> lines = lines_of(done.out);
  ASSERT_EQ(lines.size(), 2u) << done.out;
  std::map<std::string, Json> by_host;  // whose line comes first is not promised
  for (const Json& line : lines) by_host[line["host"].get<std::string>()] = line;
  ASSERT_TRUE(by_host.count("here") == 1 && by_host.count("gone") == 1) << done.out;
  EXPECT_EQ(by_host.at("here").at("lost"), nullptr);
  EXPECT_TRUE(by_host.at("gone").at("lost").is_string());
  EXPECT_EQ(by_host.at("gone").at("links"), Json::array());
}

TEST(Watch, NobodyToAskEndsAtOnce) {
  const ScratchFolder folder;
  const std::string file = folder.write("hosts.json", R"({"hosts": [
    {"name": "gone", "netns": "plumbline-no-such-namespace", "data": "10.99.99.1/24"}]})");
  const Finished done = watch({file});
  EXPECT_EQ(done.status, 2);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, HasSubstr("plumbline: gone: "));
}

// Until the program has written this.
bool says(const Program& program, const std::string& text) {
  const Deadline deadline = Deadline::after_ms(30'000);
  while (program.out().find(text) == std::string::npos) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

TEST(Watch, AnAgentThatIsKilledIsLostAndComesBack) {
  Program program(plumbline_argv({"watch"}));
  ASSERT_TRUE(program.wait_for_children(1));
  ASSERT_TRUE(says(program, "\n"));
  ASSERT_EQ(program.children().size(), 1u);
  kill(program.children()[0], SIGKILL);
  EXPECT_TRUE(says(program, "\"text\":\"cannot be observed: ")) << program.out();
  EXPECT_TRUE(says(program, "\"text\":\"can be observed again\"")) << program.out();
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(), 130) << program.err();
  EXPECT_TRUE(lines_of(program.out()).back()["lost"].is_null());
}

TEST(Watch, EndsAfterTheTimeThatItIsGiven) {
  const Finished done = watch({"--for", "100ms"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out, "");
}

TEST(Watch, AnInterruptEndsItWith130) {
  for (const int number : {SIGINT, SIGTERM}) {
    Program program(plumbline_argv({"watch"}));
    ASSERT_TRUE(program.wait_for_children(1));
    program.signal(number);
    EXPECT_EQ(program.wait(10'000), 130) << program.err();
  }
}

TEST(Watch, AReaderThatHasGoneEndsItQuietly) {
  const std::string watch = plumbline_argv({}).front() + " watch";
  const Finished done = run_program(
      {"/bin/sh", "-c", "{ " + watch + "; echo $? >&2; } | head -n 1 > /dev/null"}, {}, 30'000);
  EXPECT_EQ(done.err, "0\n");
#ifdef __linux__
  const Finished full = run_program({"/bin/sh", "-c", watch + " > /dev/full"}, {}, 30'000);
  EXPECT_EQ(full.status, 1);
  EXPECT_THAT(full.err, HasSubstr("not all of the output could be written"));
#endif
}

TEST(Watch, WhatMakesNoSenseIsRefusedBeforeAnythingStarts) {
  const std::pair<std::vector<std::string>, const char*> bad[] = {
      {{"--count", "0"}, "--count"},
      {{"--count", "many"}, "--count"},
      {{"--for", "5"}, "--for '5' is no length of time"},
      {{"--for", "-5s"}, "--for"},
      {{"--hosts", ""}, "empty"},
      {{"--hosts", "/nonexistent/hosts.json"}, "/nonexistent/hosts.json"},
      {{"a.json", "--hosts", "b.json"}, "one FILE, or --hosts FILE"},
      {{"a.json", "b.json"}, "b.json"},
  };
  for (const auto& [arguments, text] : bad) {
    const Finished done = watch(arguments);
    EXPECT_EQ(done.status, 1) << text;
    EXPECT_THAT(done.err, HasSubstr(text));
    EXPECT_EQ(done.out, "");
  }
}

}  // namespace
}  // namespace plumbline
