// Labels of series: only what tells them apart, and never cut where they differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/charts/chart.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using When = LabelColumn::When;

TEST(SeriesLabels, OnlyWhatVariesOrIsAlwaysSaid) {
  EXPECT_THAT(series_labels({{When::kAlways}, {When::kVaries}, {When::kVaries}},
                            {{"ring", "tcp", "f32"}, {"ring", "tcp", "f64"}}),
              ElementsAre("ring, f32", "ring, f64"));
}

TEST(SeriesLabels, TheRunOnlyWhereNothingElseTellsThemApart) {
  const std::vector<LabelColumn> columns = {{When::kAlways}, {When::kNeeded}};
  EXPECT_THAT(series_labels(columns, {{"osu", "r1"}, {"imb", "r2"}}), ElementsAre("osu", "imb"));
  EXPECT_THAT(series_labels(columns, {{"osu", "r1"}, {"osu", "r2"}}),
              ElementsAre("osu, r1", "osu, r2"));
  EXPECT_THAT(series_labels(columns, {{"osu", "r1"}, {"imb", "r2"}, {"osu", "r3"}}),
              ElementsAre("osu, r1", "imb", "osu, r3"));
}

TEST(SeriesLabels, NeverEmptyAndHarmless) {
  EXPECT_THAT(series_labels({{When::kVaries}}, {{"ring"}}), ElementsAre("ring"));
  EXPECT_THAT(series_labels({{When::kAlways}}, {{""}}), ElementsAre(""));  // nothing is known
  EXPECT_THAT(series_labels({{When::kAlways}}, {{"a\nb"}}), ElementsAre("a b"));
  EXPECT_TRUE(series_labels({{When::kAlways}}, {}).empty());
}

TEST(SeriesLabels, IdsAsShortAsTheyDiffer) {
  EXPECT_THAT(short_ids({"import-0123456789ab", "import-f123456789ab"}),
              ElementsAre("import-0123", "import-f123"));
  EXPECT_THAT(short_ids({"import-0123456789ab", "import-0123456789cd", "import-0123456789ab"}),
              ElementsAre("import-0123456789a", "import-0123456789c", "import-0123456789a"));
  EXPECT_THAT(short_ids({"a", ""}), ElementsAre("a", ""));
}

// Legends ended in "import-~" and "imp~": what differed had been cut off.
TEST(SeriesLabels, ALongLabelKeepsBothEnds) {
  const std::string middle(200, 'm');
  EXPECT_EQ(fit_label("first, " + middle + ", run 1", 30), "first, mmmmmmmmmmm..mmm, run 1");
  EXPECT_EQ(fit_label("short", 30), "short");
  for (const size_t columns : {0U, 1U, 8U, 9U, 40U}) {
    std::string wide;
    for (int i = 0; i < 60; ++i) wide += "\xE6\xBC\xA2";  // two columns each
    EXPECT_LE(display_width(fit_label(wide, columns)), columns);
    EXPECT_EQ(clean(fit_label(wide, columns)), fit_label(wide, columns)) << "a character was cut";
  }
}

}  // namespace
}  // namespace plumbline
