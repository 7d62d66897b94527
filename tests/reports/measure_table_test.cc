// The tables of measurements on the page: what one looks for comes first, and nothing is lost.
#include <gtest/gtest.h>

#include "reports/content.h"
#include "reports/html/writer.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns) names.push_back(header_of(column, true));
  return names;
}

Table table_of(const std::vector<Record>& records) {
  const View view = make_view(records);
  EXPECT_EQ(view.groups.size(), 1U);
  std::vector<std::string> notes;
  return group_table(view.groups.front(), notes);
}

TEST(MeasureTable, TimeBusBandwidthAndVerdictComeFirst) {
  std::vector<Record> records = {samples::record("bandwidth", "allreduce", "ring", 2, 64, 1000)};
  std::string caption = "one";
  std::vector<std::string> names = names_of(page_table(table_of(records), caption));
  names.resize(4);
  EXPECT_EQ(names, (std::vector<std::string>{"size (B)", "out-of-place time (us)",
                                             "out-of-place busbw (GB/s)", "verdict"}));
  EXPECT_EQ(caption, "one, f32, sum");
  records.push_back(records[0]);
  records[1].cell.placement = "in";
  caption = "both";
  names = names_of(page_table(table_of(records), caption));
  names.resize(6);
  EXPECT_EQ(names, (std::vector<std::string>{"size (B)", "out-of-place time (us)",
                                             "out-of-place busbw (GB/s)", "in-place time (us)",
                                             "in-place busbw (GB/s)", "verdict"}));
}

// What differs from row to row stays a column, and every cell stays in its column and row.
TEST(MeasureTable, OnlyWhatAllRowsShareMovesToTheCaption) {
  std::vector<Record> records;
  for (const char* dtype : {"f32", "bf16"}) {
    records.push_back(samples::record("latency", "broadcast", "auto", 2, 64, 1000));
    records.back().cell.dtype = dtype;
  }
  const Table table = table_of(records);
  std::string caption = "x";
  const Table page = page_table(table, caption);
  EXPECT_EQ(caption, "x, root 0, chosen: ring");  // reduction: none
  ASSERT_EQ(page.rows.size(), table.rows.size());
  EXPECT_EQ(page.columns.size(), table.columns.size() - 3);
  for (size_t to = 0; to < page.columns.size(); ++to) {
    size_t from = 0;
    while (header_of(table.columns[from], true) != header_of(page.columns[to], true)) ++from;
    for (size_t row = 0; row < page.rows.size(); ++row) {
      EXPECT_EQ(page.rows[row].cells[to], table.rows[row].cells[from]);
    }
  }
  EXPECT_EQ(page_table(Table{}, caption).rows.size(), 0U);
}

}  // namespace
}  // namespace plumbline
