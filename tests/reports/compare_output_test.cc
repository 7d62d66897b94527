// A comparison as text, JSON and picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "core/file.h"
#include "core/host/requirement.h"
#include "core/json.h"
#include "reports/charts/draw.h"
#include "reports/compare/compare.h"
#include "tests/reports/compare_launches.h"

namespace plumbline {
namespace {

using samples::add_sides;
using samples::compared;
using samples::launch;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST(CompareOutput, FitsATerminalAndSaysWhatAllRowsShare) {
  CompareCollector collector({});
  add_sides(collector, 8, 1.10, "allreduce", 1024);
  add_sides(collector, 8, 1.00, "allreduce", 4096);
  const Comparison comparison = collector.finish();
  for (const int width : {60, 100, 0}) {
    std::ostringstream out;
    render_text(compare_document(comparison), width, false, out);
    EXPECT_THAT(out.str(), AllOf(HasSubstr("1 KiB"), HasSubstr("regress"), HasSubstr("ring")));
    if (width == 0) continue;
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), static_cast<size_t>(width));
  }
}

// Columns that no row can fill, and those in which all rows agree, took the room of others.
TEST(CompareOutput, TheTableHasOnlyColumnsThatSaySomething) {
  CompareCollector collector({});
  for (const char* op : {"allreduce", "broadcast"}) {
    Record a = launch("ra", 1, 50'000, op), b = launch("rb", 1, 51'000, op);
    a.cell.redop = b.cell.redop = std::string(op) == "allreduce" ? "sum" : "none";
    collector.take(0, a);
    collector.take(1, b);
  }
  std::ostringstream out;
  render_text(compare_document(collector.finish()), 80, false, out);
  EXPECT_THAT(out.str(), ContainsRegex("redop[ \n]sum, place out"));
  EXPECT_THAT(out.str(), HasSubstr("launches 1\n"));
  for (const char* gone : {"95% CI", "noise", "because", "without room", "redop  "}) {
    EXPECT_THAT(out.str(), Not(HasSubstr(gone)));
  }
}

TEST(CompareOutput, RowsThatDifferInOneFieldOnlyShowIt) {
  const std::pair<const char*, void (*)(Cell&)> fields[] = {
      {"root 2", [](Cell& cell) { cell.root = 2; }},
      {"cache hot", [](Cell& cell) { cell.cache = "hot"; }},
      {"sync window", [](Cell& cell) { cell.sync = "window"; }},
      {"4 in flight", [](Cell& cell) { cell.outstanding = 4; }},
      {"on a+b", [](Cell& cell) { cell.hosts = "a+b"; }},
      {"chunk_bytes=1", [](Cell& cell) { cell.params["chunk_bytes"] = "1"; }},
      {"other", [](Cell& cell) { cell.engine = "other"; }},
      {"place", [](Cell& cell) { cell.placement = "in"; }},
      {"redop", [](Cell& cell) { cell.redop = "max"; }},
      {"type", [](Cell& cell) { cell.dtype = "bf16"; }},
      {"transport", [](Cell& cell) { cell.transport = "memory"; }}};
  for (const auto& [shown, change] : fields) {
    CompareCollector collector({});
    add_sides(collector, 8, 1.10, "reduce_scatter", 1024);
    for (int i = 1; i <= 8; ++i) {
      for (size_t side = 0; side < 2; ++side) {
        Record other = launch(side == 0 ? "ra" : "rb", i, 50'000 + i, "reduce_scatter", 1024);
        change(other.cell);
        collector.take(side, other);
      }
    }
    std::ostringstream out;
    render_text(compare_document(collector.finish()), 60, false, out);
    // Below the paragraph of what all rows share.
    const std::string text = out.str();
    const size_t table = text.find("\noperation");
    ASSERT_NE(table, std::string::npos) << text;
    EXPECT_NE(text.find(shown, table), std::string::npos) << shown << "\n" << text;
  }
}

TEST(CompareOutput, JsonHasEveryNumber) {
  CompareCollector collector({});
  add_sides(collector, 8, 1.10);
  collector.take(1, launch("rb", 1, 9000, "broadcast"));
  const auto json = nlohmann::json::parse(compare_json(collector.finish()));
  EXPECT_EQ(json.at("verdict"), "regress");
  EXPECT_EQ(json.at("rows").at(0).at("a").at("launches").size(), 8u);
  EXPECT_NEAR(json.at("rows").at(0).at("ratio").get<double>(), 1.1, 0.01);
  EXPECT_EQ(json.at("rows").at(0).at("ratio_ci95").size(), 2u);
  EXPECT_TRUE(json.at("rows").at(1).at("ratio").is_null());
  EXPECT_EQ(json.at("counts").at("regress"), 1);
}

// The line at 0 lay across the labels when every change was large.
TEST(CompareOutput, TheLineOfNoChangeIsInThePicture) {
  const Comparison comparison = compared(8, 5.0);
  const std::string script = compare_plot_script(comparison, "c");
  double low = 0, high = 0;
  ASSERT_EQ(
      std::sscanf(script.c_str() + script.find("set xrange"), "set xrange [%lf:%lf]", &low, &high),
      2);
  EXPECT_LT(low, 0);
  EXPECT_GT(high, 400);
}

TEST(CompareOutput, DrawsAndNothingInANameIsACommand) {
  static constexpr std::array kNeeds = {"gnuplot"};
  if (const auto reason = unmet(kNeeds)) GTEST_SKIP() << *reason;
  CompareCollector collector({});
  const std::string evil = "x'; system \"touch owned\"; print '`touch owned`";
  for (int i = 1; i <= 6; ++i) {
    for (size_t side = 0; side < 2; ++side) {
      Record record =
          launch(side == 0 ? "ra" : "rb", i, 50'000 + 3000.0 * static_cast<double>(side) + i);
      record.cell.params["p"] = evil;
      collector.take(side, record);
    }
  }
  Comparison comparison = collector.finish();
  comparison.name_b = evil;
  const TemporaryFolder folder;
  std::vector<std::string> written;
  const Status drawn = draw_files(folder.path().string(), "c", compare_plot_data(comparison),
                                  compare_plot_script(comparison, "c"), written);
  ASSERT_TRUE(drawn) << drawn.error().message();
  EXPECT_THAT(written, SizeIs(4));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "owned"));
}

}  // namespace
}  // namespace plumbline
