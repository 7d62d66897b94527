// The time left that a live run shows, without a clock.
#include <gtest/gtest.h>

#include "scenarios/estimate.h"

namespace plumbline {
namespace {

constexpr int kCells = 100;

// What is shown after `done` of 100 cells of one second each (by the plan) that take `took_s`.
double shown_after(int done, double took_s, double first_s) {
  Eta eta(kCells);
  for (int i = 0; i < done; ++i) eta.done(1, i == 0 ? first_s : took_s);
  return eta.seconds();
}

TEST(Eta, RightEstimatesAreShownAsTheyAre) {
  for (const int done : {0, 1, 50, 99}) EXPECT_NEAR(shown_after(done, 1, 1), kCells - done, 1e-9);
  EXPECT_EQ(shown_after(kCells, 1, 1), 0);
}

TEST(Eta, WrongEstimatesAreCorrectedByWhatIsSeen) {
  for (const double factor : {0.2, 3.0, 10.0}) {
    const double truth = 50 * factor;
    EXPECT_NEAR(shown_after(50, factor, factor), truth, truth * 0.75) << factor;
    const double late = 10 * factor;
    EXPECT_NEAR(shown_after(90, factor, factor), late, late * 0.45) << factor;
  }
}

// The first cell waits for the ranks: a run of a minute and a half was once said to take half an
// hour.
TEST(Eta, ASlowStartDoesNotSpoilIt) {
  EXPECT_LT(shown_after(1, 1, 20), 3 * 99);
  EXPECT_GE(shown_after(1, 1, 20), 99);
  EXPECT_LT(shown_after(20, 1, 20), 2 * 80);
}

TEST(Eta, NothingIsEverNegativeOrNoNumber) {
  Eta none(0);
  EXPECT_EQ(none.seconds(), 0);
  none.done(0, 5);
  EXPECT_EQ(none.seconds(), 0);
  Eta more(1);
  more.done(2, 1);  // rounding of sums
  EXPECT_EQ(more.seconds(), 0);
}

}  // namespace
}  // namespace plumbline
