#include "launch/roll_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/clock.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

JoinRequest rank(int number, int size) {
  JoinRequest request;
  request.rank = number;
  request.size = size;
  request.launcher = "torchrun";
  request.version = "1";
  request.host = "node" + std::to_string(number);
  request.pid = 100 + number;
  return request;
}

TEST(RollCall, TellsWhoIsMissingAndForHowLong) {
  RollCall roll(rank(0, 8), 0);
  for (const int number : {1, 5, 7}) ASSERT_TRUE(roll.arrive(rank(number, 8)));
  EXPECT_FALSE(roll.complete());
  EXPECT_EQ(roll.progress(7 * kSecond),
            "4 of 8 ranks have arrived after 7 s; missing: ranks 2-4, 6");
  const Error error = roll.missing_error("10.0.0.1 port 29500", 30 * kSecond);
  EXPECT_EQ(error.cause, "rank.missing");
  EXPECT_THAT(error.what, HasSubstr("ranks 2-4, 6 of 8 did not arrive at 10.0.0.1 port 29500"));
  EXPECT_THAT(error.what, HasSubstr("node5: rank 5"));
  for (const int number : {2, 3, 4, 6}) ASSERT_TRUE(roll.arrive(rank(number, 8)));
  EXPECT_TRUE(roll.complete());
  EXPECT_TRUE(roll.agree());
  EXPECT_EQ(roll.requests().size(), 8u);
}

TEST(RollCall, RefusesWhatCannotBecomeAWorld) {
  RollCall roll(rank(0, 4), 0);
  ASSERT_TRUE(roll.arrive(rank(1, 4)));
  JoinRequest twin = rank(1, 4);
  twin.pid = 999;
  const Status duplicate = roll.arrive(twin);
  ASSERT_FALSE(duplicate);
  EXPECT_THAT(duplicate.error().what, HasSubstr("pid 101 on node1 and pid 999 on node1"));
  const Status size = roll.arrive(rank(2, 2 + 1));
  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().cause, "config.mismatch");
  EXPECT_THAT(size.error().what, HasSubstr("counts 3 ranks (torchrun), rank 0 counts 4"));
  EXPECT_FALSE(roll.arrive(rank(0, 4)));  // a second rank 0
  EXPECT_FALSE(roll.arrive(rank(4, 4)));
  EXPECT_FALSE(roll.arrive(rank(-1, 4)));
  JoinRequest old = rank(2, 4);
  old.version = "0";
  const Status version = roll.arrive(old);
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().cause, "config.version_mismatch");
  EXPECT_THAT(roll.missing(), ElementsAre(2, 3));
}

TEST(RollCall, NamesEveryKeyThatDiffers) {
  JoinRequest first = rank(0, 4);
  first.config = {{"chunk_bytes", "256Ki"}, {"command", "run"}, {"scenario", "aa"}};
  RollCall roll(first, 0);
  for (int number = 1; number < 4; ++number) {
    JoinRequest request = rank(number, 4);
    request.config = first.config;
    if (number >= 2) request.config["chunk_bytes"] = "1Mi";
    if (number == 3) request.config["scenario"] = "bb";
    ASSERT_TRUE(roll.arrive(request));
  }
  const Status agree = roll.agree();
  ASSERT_FALSE(agree);
  EXPECT_EQ(agree.error().cause, "config.mismatch");
  EXPECT_THAT(agree.error().what, HasSubstr("chunk_bytes: 256Ki on ranks 0, 1, 1Mi on ranks 2, 3"));
  EXPECT_THAT(agree.error().what, HasSubstr("scenario: aa on ranks 0-2, bb on rank 3"));
  EXPECT_THAT(agree.error().what, Not(HasSubstr("command")));
}

TEST(RollCall, ARankWithoutTheScenarioFileAgrees) {
  JoinRequest first = rank(0, 2);
  first.config = {{"scenario", "aa"}};
  RollCall roll(first, 0);
  ASSERT_TRUE(roll.arrive(rank(1, 2)));
  EXPECT_TRUE(roll.agree());
}

TEST(RollCall, DriftOfVariables) {
  JoinRequest first = rank(0, 3);
  first.variables = {{"PLUMBLINE_SPIN_US", "0"}};
  RollCall roll(first, 0);
  JoinRequest second = rank(1, 3);
  second.variables = {{"PLUMBLINE_SPIN_US", "500"}, {"MCCL_LOG_LEVEL", "DEBUG"}};
  ASSERT_TRUE(roll.arrive(second));
  ASSERT_TRUE(roll.arrive(rank(2, 3)));
  EXPECT_THAT(roll.drift(),
              ElementsAre("MCCL_LOG_LEVEL: not set on ranks 0, 2, DEBUG on rank 1",
                          "PLUMBLINE_SPIN_US: 0 on rank 0, 500 on rank 1, not set on rank 2"));
}

TEST(RollCall, HostileTextIsMadePrintable) {
  RollCall roll(rank(0, 3), 0);
  JoinRequest odd = rank(1, 3);
  odd.host = "evil\x1b[2J\n";
  ASSERT_TRUE(roll.arrive(odd));
  const std::string text = roll.missing_error("x", 0).what;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(JoinLine, SurvivesTheJourney) {
  JoinRequest request = rank(3, 4);
  request.machine = "boot net:[1]";
  Nic nic;
  nic.name = "eth0";
  nic.speed_bps = 1000;
  nic.addresses.push_back({"10.0.0.1", 24, false, false, false});
  request.nics = {nic};
  request.config = {{"a", "b"}};
  request.variables = {{"MCCL_X", "\xff\xfe"}};  // not UTF-8
  const auto back = decode_join(encode_join(request));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->rank, 3);
  EXPECT_EQ(back->machine, request.machine);
  EXPECT_EQ(back->nics.front().addresses, nic.addresses);
  EXPECT_EQ(back->config, request.config);
}

TEST(JoinLine, NonsenseIsRefused) {
  const std::string good = encode_join(rank(1, 2));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_TRUE(decode_join(good));
  const std::vector<std::string> bad = {"",
                                        "{}",
                                        "[]",
                                        "null",
                                        "GET / HTTP/1.1",
                                        std::string(100'000, '['),
                                        good.substr(0, 40),
                                        with("\"rank\":1", "\"rank\":-1"),
                                        with("\"rank\":1", "\"rank\":\"1\""),
                                        with("\"size\":2", "\"size\":2000000000"),
                                        with("\"size\":2", "\"size\":0"),
                                        with("\"join\":1", "\"join\":2"),
                                        with("\"nics\":[]", "\"nics\":[1]"),
                                        with("\"config\":{}", "\"config\":{\"a\":1}")};
  for (const std::string& line : bad) EXPECT_FALSE(decode_join(line)) << line.substr(0, 80);
}

TEST(JoinLine, AnswersKeepTheirError) {
  const JoinAnswer welcome = decode_join_answer(encode_join_answer({{}, true}));
  EXPECT_TRUE(welcome.status);
  EXPECT_TRUE(welcome.agent);
  const JoinAnswer refusal = {
      fail(Error{ErrorCode::kMismatch, "what", 0, "hint", "config.mismatch"}), false};
  const JoinAnswer back = decode_join_answer(encode_join_answer(refusal));
  ASSERT_FALSE(back.status);
  EXPECT_EQ(back.status.error().code, ErrorCode::kMismatch);
  EXPECT_EQ(back.status.error().what, "what");
  EXPECT_EQ(back.status.error().cause, "config.mismatch");
  EXPECT_FALSE(decode_join_answer("welcome").status);
  EXPECT_FALSE(decode_join_answer("{\"welcome\":1}").status);
}

TEST(JoinLine, AgentsSayWhoseTheyAre) {
  EXPECT_EQ(decode_agent_offer(encode_agent_offer(3)).value(), 3);
  for (const char* line : {"", "3", "{}", "{\"agent\":\"3\"}", "{\"agent\":null}"}) {
    EXPECT_FALSE(decode_agent_offer(line)) << line;
  }
}

TEST(RollCall, AgentsAreTheLowestRanksOfOtherMachines) {
  JoinRequest first = rank(0, 5);
  first.machine = "a";
  RollCall roll(first, 0);
  for (const auto& [number, machine] :
       {std::pair(4, "c"), std::pair(2, "b"), std::pair(1, "a"), std::pair(3, "b")}) {
    JoinRequest request = rank(number, 5);
    request.machine = machine;
    ASSERT_TRUE(roll.arrive(request));
  }
  EXPECT_THAT(roll.agents(), ElementsAre(2, 4));
}

TEST(RankList, Compresses) {
  EXPECT_EQ(rank_list({3}), "rank 3");
  EXPECT_EQ(rank_list({1, 2}), "ranks 1, 2");
  EXPECT_EQ(rank_list({0, 1, 2, 5, 7, 8, 9}), "ranks 0-2, 5, 7-9");
}

}  // namespace
}  // namespace plumbline
