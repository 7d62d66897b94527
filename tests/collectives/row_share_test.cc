// Which rows a sanitizer runs: each in its turn, of every kind some, and never none.
#include "tests/support/row_share.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <set>

namespace plumbline::test {
namespace {

TEST(RowShare, EveryRowHasItsTurnAndEachGroupOfRowsOne) {
  for (const size_t one_in : {1, 2, 3, 4, 7}) {
    const size_t rows = 60 * one_in;
    std::vector<size_t> turns(rows);
    for (uint64_t number = 20'000; number < 20'000 + one_in; ++number) {
      std::vector<size_t> of_group(60);
      for (size_t row = 0; row < rows; ++row) {
        if (!in_share(row, one_in, number)) continue;
        ++turns[row];
        ++of_group[row / one_in];
      }
      EXPECT_EQ(of_group, std::vector<size_t>(60, 1)) << one_in;
    }
    EXPECT_EQ(turns, std::vector<size_t>(rows, 1)) << one_in;
  }
}

// An inner loop of two or four values, of which an even step would meet one only.
TEST(RowShare, NoShareKeepsToOneValueOfAnInnerLoop) {
  for (uint64_t number = 0; number < kUsualShare; ++number) {
    for (const size_t values : {2, 3, 4, 5, 8}) {
      std::set<size_t> met;
      for (size_t row = 0; row < 100; ++row) {
        if (in_share(row, kUsualShare, number)) met.insert(row % values);
      }
      EXPECT_EQ(met.size(), values) << number;
    }
  }
}

TEST(RowShare, OfEveryKindSomeAreRun) {
  for (uint64_t number = 0; number < 12; ++number) {
    std::map<std::string, size_t> run;
    RowShare share(4, 0, true, number);
    for (int row = 0; row < 9; ++row) {
      for (const char* kind : {"ring", "tree", "direct"}) run[kind] += share.runs(kind) ? 1 : 0;
    }
    for (const char* kind : {"ring", "tree", "direct"}) {
      EXPECT_GE(run[kind], 2u) << kind;
      EXPECT_LE(run[kind], 3u) << kind;
    }
    EXPECT_EQ(share.run(), run["ring"] + run["tree"] + run["direct"]);
  }
}

TEST(RowShare, WithoutASanitizerAllAreRun) {
  RowShare share(4, 0, false, 3);
  for (int row = 0; row < 9; ++row) EXPECT_TRUE(share.runs(row == 0 ? "one only" : "others"));
  EXPECT_EQ(share.run(), 9u);
}

TEST(RowShare, ATestOfNoRowsFails) {
  EXPECT_NONFATAL_FAILURE(RowShare(4, 0, false, 0), "a test of no rows");
  EXPECT_NONFATAL_FAILURE(
      {
        RowShare share(4, 0, true, 0);
        for (int row = 0; row < 4; ++row) share.runs("enough");
        for (int row = 0; row < 3; ++row) share.runs("too few");
      },
      "rows of kind 'too few'");
}

TEST(RowShare, OfACoveringArrayEveryValueIsMetInEveryShareAndEveryRowInSome) {
  const std::vector<size_t> axes = {30, 5, 7, 4, 2};
  const std::vector<CoveringRow> rows =
      covering_array(axes, 5, [](const CoveringRow& row) { return row[1] != 0 || row[0] == 3; });
  ASSERT_GT(rows.size(), 150u);
  std::set<CoveringRow> seen;
  for (uint64_t number = 0; number < kUsualShare; ++number) {
    const std::vector<CoveringRow> share = covering_share(rows, kUsualShare, number);
    EXPECT_LT(share.size(), rows.size() / 2);
    seen.insert(share.begin(), share.end());
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      std::set<size_t> values;
      for (const CoveringRow& row : share) values.insert(row[axis]);
      EXPECT_EQ(values.size(), axes[axis]) << "axis " << axis << ", share " << number;
    }
  }
  EXPECT_EQ(seen, std::set<CoveringRow>(rows.begin(), rows.end()));
  EXPECT_EQ(covering_share({{1, 2}}, 4, 2), (std::vector<CoveringRow>{{1, 2}}));
}

}  // namespace
}  // namespace plumbline::test
