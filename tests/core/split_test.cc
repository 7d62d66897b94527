// Groups by colour: which text means which groups, and which ranks make none.
#include "core/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/record/record.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

std::string read_again(const std::string& text) {
  const Expected<Split> split = parse_split(text);
  return split ? to_string(*split) : "refused: " + split.error().message();
}

TEST(Split, TextsThatMeanGroups) {
  EXPECT_EQ(read_again(""), "none");
  EXPECT_EQ(read_again("none"), "none");
  EXPECT_EQ(read_again("mod:2"), "mod:2");
  EXPECT_EQ(read_again("div:16"), "div:16");
  EXPECT_EQ(read_again("div:08"), "div:8");
}

TEST(Split, OtherTextsAreRefusedWithWhatWouldWork) {
  for (const char* text : {"mod", "div", "mod:", "mod:0", "mod:-2", "div:1.5", "div:two", "mod:2x",
                           "mod: 2", "div:99999999999999999999", "mod:1025", "mod:2:2"}) {
    EXPECT_THAT(read_again(text), HasSubstr("needs a number from 1 to 1024, not ")) << text;
  }
  EXPECT_THAT(read_again("none:2"), HasSubstr("takes no number"));
  EXPECT_THAT(read_again("mdo:2"), HasSubstr("did you mean mod?"));
  EXPECT_THAT(read_again("%2"), HasSubstr("use none, mod:N or div:N"));
}

// Every rank is in one group, whose members agree who they are.
TEST(Split, GroupsAreOfOneSizeAndHoldEveryRankOnce) {
  for (int ranks = 1; ranks <= 24; ++ranks) {
    for (const SplitWay way : {SplitWay::kNone, SplitWay::kMod, SplitWay::kDiv}) {
      for (int n = 1; n <= 25; ++n) {
        const Split split{way, n};
        if (!split_unsupported(split, ranks).empty()) continue;
        std::set<std::vector<int>> groups;
        for (int rank = 0; rank < ranks; ++rank) {
          const std::vector<int> members = members_of(split, ranks, rank);
          EXPECT_EQ(static_cast<int>(members.size()), group_size(split, ranks));
          EXPECT_EQ(std::count(members.begin(), members.end(), rank), 1);
          groups.insert(members);
        }
        EXPECT_EQ(static_cast<int>(groups.size()) * group_size(split, ranks), ranks);
        EXPECT_EQ(groups.size() > 1, split && ranks > 1) << to_string(split) << ranks;
      }
    }
  }
  EXPECT_EQ(members_of({SplitWay::kMod, 2}, 6, 3), (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(members_of({SplitWay::kDiv, 2}, 6, 3), (std::vector<int>{2, 3}));
}

TEST(Split, GroupsThatCannotBeNameThoseThatCan) {
  const auto why = [](const char* text, int ranks) {
    return split_unsupported(parse_split(text).value(), ranks);
  };
  EXPECT_EQ(why("none", 1), "");
  EXPECT_EQ(why("mod:2", 4), "");
  EXPECT_THAT(why("mod:3", 12), "");
  EXPECT_THAT(why("mod:5", 12), HasSubstr("use mod:2, mod:3, mod:4, mod:6, or none"));
  EXPECT_THAT(why("div:3", 8), HasSubstr("use div:2, div:4, or none"));
  EXPECT_THAT(why("mod:1", 4), HasSubstr("use mod:2, or none")) << "one group";
  EXPECT_THAT(why("div:4", 4), HasSubstr("use div:2, or none")) << "one group";
  EXPECT_THAT(why("mod:4", 4), HasSubstr("use mod:2, or none")) << "of one rank each";
  EXPECT_THAT(why("div:1", 4), HasSubstr("use div:2, or none")) << "of one rank each";
  EXPECT_THAT(why("mod:8", 4), HasSubstr("use mod:2, or none")) << "more colours than ranks";
  for (const int ranks : {1, 2, 3, 7}) {
    EXPECT_THAT(why("mod:2", ranks), HasSubstr("use none, or other numbers of ranks")) << ranks;
  }
}

// Of a record of anybody: what makes no groups is one.
TEST(Split, BandwidthsGoByTheGroup) {
  Cell cell;
  cell.kind = CellKind::kBandwidth;
  cell.op = "allreduce";
  cell.ranks = 6;
  cell.bytes = 6000;
  TimeSummary time;
  time.p50 = 1000;
  const auto rates = [&](const std::string& split) {
    cell.split = split;
    return rates_of(cell, {}, time);
  };
  EXPECT_DOUBLE_EQ(*rates("").busbw_Bps, 6e9 * 2 * 5 / 6);
  EXPECT_DOUBLE_EQ(*rates("mod:2").busbw_Bps, 6e9 * 2 * 2 / 3);
  EXPECT_DOUBLE_EQ(*rates("div:2").busbw_Bps, 6e9);
  EXPECT_EQ(rates("div:2").ideal_wire_bytes, 3 * 2 * 6000U) << "of all groups";
  EXPECT_EQ(groups_of(cell), 3);
  for (const char* wrong : {"mod:4", "div:0", "mod:99999", "div:-2", "anything", "mod:7"}) {
    EXPECT_DOUBLE_EQ(*rates(wrong).busbw_Bps, 6e9 * 2 * 5 / 6) << wrong;
    EXPECT_EQ(groups_of(cell), 1);
  }
}

}  // namespace
}  // namespace plumbline
