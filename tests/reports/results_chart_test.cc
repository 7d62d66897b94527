// RESULTS.svg: the same bytes everywhere, readable in light and dark, and no word in it that
// somebody typed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "reports/publish/bundle.h"
#include "reports/publish/results_page.h"
#include "tests/reports/bundle_samples.h"

namespace plumbline {
namespace {

using nlohmann::json;

BundleReport report_of(uint64_t seed, const std::string& link, uint64_t speed_bps = 0) {
  json content = samples::bundle(seed)["content"];
  content["statement"]["hardware"] = {"quokka " + std::to_string(seed)};
  content["statement"]["link_kind"] = link;
  if (speed_bps > 0) content["statement"]["link_speed_bps"] = speed_bps;
  return verify_bundle(bundle_text(seal_bundle(content)), "");
}

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// The number behind `word` at or after `at`.
int number_after(const std::string& text, const std::string& word, size_t at = 0) {
  const size_t found = text.find(word, at);
  return found == std::string::npos ? -1 : std::atoi(text.c_str() + found + word.size());
}

TEST(ResultsChart, IsTheSameInAnyOrder) {
  std::vector<BundleReport> bundles;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    bundles.push_back(report_of(seed, seed % 2 == 0 ? "ethernet-10g" : "thunderbolt4"));
  }
  const std::string chart = results_chart(bundles, {});
  EXPECT_EQ(chart, results_chart(bundles, {}));
  std::reverse(bundles.begin(), bundles.end());
  EXPECT_EQ(chart, results_chart(bundles, {}));
}

TEST(ResultsChart, CanBeReadInLightAndDarkAndByThoseWhoCannotSeeIt) {
  for (const std::string& chart :
       {results_chart({}, {}), results_chart({report_of(1, "usb4")}, {})}) {
    for (const char* part :
         {"<svg xmlns=\"http://www.w3.org/2000/svg\"", "role=\"img\"",
          "aria-labelledby=\"title words\"", "<title id=\"title\">", "<desc id=\"words\">",
          "@media (prefers-color-scheme: dark)", ".card { fill: #ffffff", ".card { fill: #161b21",
          "class=\"card\"/>"}) {
      EXPECT_EQ(count(chart, part), 1u) << part;
    }
    EXPECT_EQ(count(chart, "<text "), count(chart, "</text>"));
    EXPECT_EQ(count(chart, "<script"), 0u);
    EXPECT_EQ(count(chart, "href"), 0u);  // nothing from elsewhere
    EXPECT_LT(chart.size(), 20'000u);
  }
  EXPECT_EQ(count(results_chart({}, {}), "There are no rows yet."), 2u);
}

TEST(ResultsChart, HasOneDotForEachBestRowWithItsValue) {
  const std::vector<BundleReport> bundles = {
      report_of(1, "ethernet-10g"), report_of(2, "ethernet-10g"), report_of(3, "thunderbolt5")};
  const std::vector<ResultRow> rows = result_rows(bundles, {});
  const std::vector<BestRow> best = best_rows(rows);
  const std::string chart = results_chart(bundles, {});
  ASSERT_GT(best.size(), 2u);
  EXPECT_EQ(count(chart, "<circle "), best.size());
  for (const BestRow& row : best) {
    const std::string words = row.best->row->cell.op + " over " + link_text(*row.best->statement);
    EXPECT_NE(chart.find(words), std::string::npos) << words;
  }
  EXPECT_EQ(chart.find("quokka"), std::string::npos);
}

// Of two dots of one panel the one with the larger value lies further right, on the scale.
TEST(ResultsChart, TheDotsLieAsTheirValues) {
  std::vector<BundleReport> bundles = {report_of(1, "ethernet-10g"), report_of(2, "thunderbolt5"),
                                       report_of(3, "usb4")};
  const std::string chart = results_chart(bundles, {});
  const size_t operation = chart.find(">pingpong</text>");
  ASSERT_NE(operation, std::string::npos);
  int last_x = 0;
  double last_us = 0;
  size_t at = operation;
  for (int dot = 0; dot < 3; ++dot) {
    at = chart.find("<circle ", at) + 1;
    const int x = number_after(chart, "cx=\"", at);
    const size_t value = chart.find("class=\"\">", at) + 9;
    const double us = std::strtod(chart.c_str() + value, nullptr);
    EXPECT_EQ(chart.substr(chart.find(' ', value), 3), " us") << chart.substr(value, 20);
    EXPECT_GE(us, last_us);
    EXPECT_GE(x, last_x);
    EXPECT_GE(x, 400);
    EXPECT_LE(x, 840);
    last_us = us;
    last_x = x;
  }
}

TEST(ResultsChart, StaysSmallHoweverManyLinksThereAre) {
  std::vector<BundleReport> bundles;
  for (uint64_t i = 1; i <= 40; ++i) {
    bundles.push_back(report_of(i, "other", (20 + i) * 1'000'000'000));
    ASSERT_TRUE(bundles.back().sound());
  }
  const std::string chart = results_chart(bundles, {});
  EXPECT_EQ(count(chart, " more in the table</text>"), 2u);
  EXPECT_LE(count(chart, "<circle "), 80u);
  EXPECT_LT(chart.size(), 60'000u);
  EXPECT_LT(number_after(chart, "height=\""), 2'400);
}

}  // namespace
}  // namespace plumbline
