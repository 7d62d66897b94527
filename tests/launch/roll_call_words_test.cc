// Ranks that were given different words.
#include <gmock/gmock.h>

#include "launch/roll_call.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

JoinRequest request(int rank, std::map<std::string, std::string> words) {
  JoinRequest out;
  out.rank = rank;
  out.size = 3;
  out.version = "1";
  out.words = std::move(words);
  return out;
}

std::string disagreement(const std::vector<std::map<std::string, std::string>>& words) {
  RollCall roll(request(0, words[0]), 0);
  for (int rank = 1; rank < 3; ++rank) {
    // Over the wire, as they come.
    const auto arrived = decode_join(encode_join(request(rank, words[static_cast<size_t>(rank)])));
    EXPECT_TRUE(arrived && roll.arrive(*arrived));
  }
  const Status agreed = roll.agree();
  return agreed ? "" : agreed.error().message();
}

TEST(RollCallWords, AlikeTheyAgree) {
  EXPECT_EQ(disagreement({{{"--iters", "5"}}, {{"--iters", "5"}}, {{"--iters", "5"}}}), "");
}

TEST(RollCallWords, ADifferenceIsNamedWithItsRanks) {
  EXPECT_THAT(disagreement({{{"--iters", "5"}}, {{"--iters", "6"}}, {{"--iters", "5"}}}),
              HasSubstr("--iters: 5 on ranks 0, 2, 6 on rank 1"));
}

TEST(RollCallWords, AWordThatOneLacksIsADifferenceToo) {
  EXPECT_THAT(disagreement({{}, {{"--json", "given"}}, {}}),
              AllOf(HasSubstr("not given on ranks 0, 2"), HasSubstr("given on rank 1")));
}

}  // namespace
}  // namespace plumbline
