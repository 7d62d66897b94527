// The plot of characters that ends a run on a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reports/report.h"
#include "reports/text.h"
#include "tests/reports/samples.h"
#include "tests/support/golden.h"
#include "tests/support/row_share.h"

namespace plumbline {
namespace {

std::string drawn(std::vector<Record> records, int width) {
  ReportInput input;
  input.records = std::move(records);
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  target.width = width;
  EXPECT_TRUE(find_report("terminal")->write(input, target));
  return out.str();
}

TEST(Terminal, Golden) {
  EXPECT_TRUE(equals_golden(drawn(samples::small_run(), 80), "report_terminal.txt"));
}

TEST(Terminal, NothingToDrawIsNothing) {
  EXPECT_EQ(drawn({}, 80), "");
  EXPECT_EQ(drawn({samples::record("latency", "allreduce", "ring", 2, 64, 1000)}, 80), "");
}

TEST(Terminal, BoundedInBothDirections) {
  test::RowShare share(3);
  for (const int width : {0, 1, 40, 60, 100, 1000}) {
    if (!share.runs()) continue;
    std::vector<Record> records = samples::large_run();
    for (Record& record : records) record.cell.algorithm += "\x1b[2J" + std::string(100, 'a');
    std::istringstream lines(drawn(std::move(records), width));
    const size_t most = width == 0 ? 80 : std::min<size_t>(110, std::max(40, width));
    size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      EXPECT_LE(display_width(line), most) << line;
      for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
    }
    EXPECT_GT(count, 20U);
    EXPECT_LT(count, 200U);
  }
}

}  // namespace
}  // namespace plumbline
