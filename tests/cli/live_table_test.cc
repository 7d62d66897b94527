// What a live run shows: rows that fit, a last line that is rewritten, nothing left behind.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/progress.h"
#include "reports/text.h"
#include "tests/support/screen.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

Record finished(const std::string& op = "reduce_scatter") {
  Record record;
  record.cell.kind = CellKind::kLatency;
  record.cell.op = op;
  record.cell.algorithm = "recursive_halving";
  record.cell.ranks = 1024;
  record.cell.bytes = 1536 << 10;
  record.time_ns.p50 = 123'456;
  record.busbw_Bps = 12.3e9;
  return record;
}

TEST(LiveTable, FitsEveryWidth) {
  Record record = finished();
  record.noise = {"noisy", {"load", "involuntary switches", "oversubscribed"}};
  for (int width = 30; width <= 220; ++width) {
    EXPECT_LE(display_width(live_header(width)), static_cast<size_t>(width));
    EXPECT_LE(display_width(live_row(record, width, false)), static_cast<size_t>(width)) << width;
  }
}

TEST(LiveTable, NarrowTerminalsKeepWhatMatters) {
  const std::string row = live_row(finished(), 39, false);
  EXPECT_THAT(row, HasSubstr("1.5 MiB"));
  EXPECT_THAT(row, HasSubstr("123 us"));
  EXPECT_THAT(row, HasSubstr("clean"));
  EXPECT_THAT(row, Not(HasSubstr("GB/s")));
  const std::string at_80 = live_row(finished(), 79, false);
  for (const char* part : {"reduce_scatter", "recursive_ha", "1024", "12.3 GB/s"}) {
    EXPECT_THAT(at_80, HasSubstr(part));
  }
  EXPECT_THAT(live_row(finished(), 199, false), HasSubstr("f32 sum"));
}

TEST(LiveTable, ColumnsStandUnderTheirNames) {
  for (const int width : {39, 79, 119, 199}) {
    const std::string header = live_header(width), row = live_row(finished(), width, false);
    EXPECT_EQ(header.find("verdict"), row.find("clean")) << header << "\n" << row;
    EXPECT_EQ(header.find("time") + 4, row.find("123 us") + 6) << header << "\n" << row;
  }
}

TEST(LiveTable, NamesOfOthersCannotMoveTheCursor) {
  EXPECT_EQ(live_row(finished("\033[2Jevil\r\n"), 80, false).find_first_of("\033\r\n"),
            std::string::npos);
}

TEST(LiveTable, ColourOnlyWhereWanted) {
  Record record = finished();
  record.measurement.outcome = Outcome::kError;
  EXPECT_EQ(live_row(record, 80, false).find('\033'), std::string::npos);
  EXPECT_NE(live_row(record, 80, true).find('\033'), std::string::npos);
}

// Shows `cells` cells on a terminal whose width is told by `width`.
template <typename Width>
void show_cells(Progress& progress, int cells, Width width_at) {
  PlanCell next;
  next.cell = finished().cell;
  for (int i = 0; i < cells; ++i) {
    width_at(i);
    RunProgress state;
    state.done = static_cast<size_t>(i);
    state.total = static_cast<size_t>(cells);
    state.eta_s = 100;
    state.current = &next;
    progress.show(state);
    const Record record = finished();
    state.current = nullptr;
    state.last = &record;
    state.done = static_cast<size_t>(i) + 1;
    progress.show(state);
  }
}

TEST(LiveProgress, OneRowPerCellAndACleanEnd) {
  for (const int width : {40, 80, 200}) {
    std::ostringstream err;
    Progress progress(
        err, true, [width] { return width; }, false);
    show_cells(progress, 5, [](int) {});
    progress.finish();
    Screen screen(static_cast<size_t>(width));
    screen.take(err.str());
    EXPECT_FALSE(screen.wrapped()) << width;
    EXPECT_EQ(screen.lines().size(), 7u) << "header, five rows, an empty line";
    EXPECT_EQ(screen.lines().back(), "");
    EXPECT_EQ(screen.colours(), 0u);
  }
}

TEST(LiveProgress, TheBarIsTheLastLineAndSaysHowLong) {
  std::ostringstream err;
  Progress progress(
      err, true, [] { return 80; }, false);
  show_cells(progress, 3, [](int) {});
  Screen screen(80);
  screen.take(err.str());
  EXPECT_THAT(screen.lines().back(), HasSubstr("3/3"));
  EXPECT_THAT(err.str(), HasSubstr("1/3, about 1 min 40 s left"));
}

TEST(LiveProgress, AWindowThatChangesItsSizeGetsANewHeader) {
  std::ostringstream err;
  int width = 120;
  Progress progress(
      err, true, [&width] { return width; }, false);
  show_cells(progress, 4, [&width](int i) { width = i < 2 ? 120 : 50; });
  const std::string text = err.str();
  size_t headers = 0;
  for (size_t at = text.find("verdict"); at != std::string::npos; at = text.find("verdict", at + 1))
    ++headers;
  EXPECT_EQ(headers, 2u);
}

// No part of the screen is erased before what takes its place is written.
TEST(LiveProgress, DoesNotFlicker) {
  std::ostringstream err;
  Progress progress(
      err, true, [] { return 80; }, false);
  show_cells(progress, 3, [](int) {});
  EXPECT_THAT(err.str(), Not(HasSubstr("\r\033[K")));
}

// Every text of a record that fails, and of what runs, on a terminal and elsewhere.
TEST(LiveProgress, NothingFromARankMovesTheCursor) {
  const std::string evil = "x\033[2J\r\n\x7f\xC2\x9B\xE2\x80\xAEy";
  for (const bool terminal : {true, false}) {
    std::ostringstream err;
    Progress progress(
        err, terminal, [] { return 120; }, false);
    Record record = finished();
    record.cell.op = record.cell.algorithm = record.cell.dtype = evil;
    record.cell.measure = record.cell.placement = evil;
    record.measurement.outcome = Outcome::kError;
    record.measurement.reason = record.measurement.cause = evil;
    record.noise.causes = {evil};
    PlanCell current;
    current.cell = record.cell;
    RunProgress state;
    state.done = 1;
    state.total = 2;
    state.elapsed_s = 60;
    state.last = &record;
    state.current = &current;
    progress.show(state);
    state.phase = evil;
    state.elapsed_s = 600;
    progress.show(state);
    progress.finish();
    std::string text = err.str();
    for (const char* own : {"\r", "\033[K"}) {
      for (size_t at = text.find(own); at != std::string::npos; at = text.find(own, at)) {
        text.erase(at, std::string_view(own).size());
      }
    }
    std::erase(text, '\n');
    EXPECT_EQ(text, clean(text)) << terminal;
    EXPECT_THAT(text, HasSubstr("y"));
  }
}

// A warning of a rank begins on a line of its own, and the bar comes back below it.
TEST(LiveProgress, LinesOfOthersDoNotBreakTheBar) {
  std::ostringstream err;
  Progress progress(
      err, true, [] { return 80; }, false);
  progress.line("before anything");
  show_cells(progress, 2, [](int) {});
  progress.line("[plumbline warn] one");
  progress.line("two\r\033[2Jevil");
  Screen screen(80);
  screen.take(err.str());
  const std::vector<std::string>& lines = screen.lines();
  ASSERT_GE(lines.size(), 4u);
  EXPECT_EQ(lines.front(), "before anything");
  EXPECT_EQ(lines[lines.size() - 3], "[plumbline warn] one");
  EXPECT_THAT(lines[lines.size() - 2], testing::StartsWith("two"));
  EXPECT_EQ(lines[lines.size() - 2].find_first_of("\033\r"), std::string::npos);
  EXPECT_THAT(lines.back(), testing::AllOf(testing::StartsWith("["), HasSubstr("2/2")));
  progress.finish();
  progress.line("after");
  Screen after(80);
  after.take(err.str());
  EXPECT_EQ(after.lines()[after.lines().size() - 2], "after");
}

TEST(LiveProgress, PlainLinesElsewhere) {
  std::ostringstream err;
  Progress progress(
      err, false, [] { return 0; }, true);
  show_cells(progress, 3, [](int) {});
  progress.finish();
  EXPECT_EQ(err.str(), "plumbline: 3/3\n");
}

}  // namespace
}  // namespace plumbline
