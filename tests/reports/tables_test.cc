#include "reports/tables.h"

#include <gtest/gtest.h>

#include "reports/text.h"

namespace plumbline {
namespace {

Table example() {
  Table table;
  table.columns = {{"", "size", "B", false, 0, false},
                   {"", "name", "", true, 0, false},
                   {"out", "time", "us", false, 1, false},
                   {"out", "rate", "GB/s", false, 3, false},
                   {"", "extra", "", true, 2, true}};
  table.rows = {{{"8", "ring", "1.23", "4.56", ""}, Tone::kPlain},
                {{"1024", "recursive", "12.3", "", ""}, Tone::kBad}};
  return table;
}

TEST(Tables, TextIsAlignedWithGroupNameAndUnit) {
  const std::vector<std::string> expected = {
      "                     out",         "size  name       time    rate  extra",
      " (B)             (us)  (GB/s)",    "   8  ring       1.23    4.56  -",
      "1024  recursive  12.3       -  -",
  };
  EXPECT_EQ(to_text(example(), 0, false, nullptr), expected);
}

TEST(Tables, DropsByPriorityThenCutsText) {
  std::vector<std::string> left_out;
  for (const int width : {35, 30, 22, 15, 14}) {
    left_out.clear();
    for (const std::string& line : to_text(example(), width, false, &left_out)) {
      EXPECT_LE(display_width(line), static_cast<size_t>(width)) << line;
    }
    if (width == 30) {
      EXPECT_EQ(left_out, (std::vector<std::string>{"out rate (GB/s)"}));
    }
    if (width == 22) {
      EXPECT_EQ(left_out, (std::vector<std::string>{"extra", "out rate (GB/s)"}));
    }
  }
  EXPECT_EQ(left_out.size(), 3U);  // what is never dropped stays
  EXPECT_EQ(to_text(example(), 14, false, nullptr).back(), "1024  recursi~");
}

TEST(Tables, GroupNameWiderThanItsColumnStays) {
  Table table;
  table.columns = {{"a very long group", "x", "", false, 0, false}};
  table.rows = {{{"1"}, Tone::kPlain}};
  EXPECT_EQ(to_text(table, 0, false, nullptr).front(), "a very long group");
}

TEST(Tables, EmptyOptionalColumnsGo) {
  const Table table = without_empty_columns(example());
  EXPECT_EQ(table.columns.size(), 4U);
  for (const TableRow& row : table.rows) EXPECT_EQ(row.cells.size(), 4U);
  EXPECT_EQ(table.rows[1].tone, Tone::kBad);
}

TEST(Tables, NoColumnsAndNoRows) {
  EXPECT_TRUE(to_text(Table{}, 10, true, nullptr).empty());
  Table header_only = example();
  header_only.rows.clear();
  EXPECT_EQ(to_text(header_only, 0, false, nullptr).size(), 3U);
}

TEST(Tables, ColourOnlyWhenAsked) {
  for (const std::string& line : to_text(example(), 0, false, nullptr)) {
    EXPECT_EQ(line.find('\033'), std::string::npos);
  }
  EXPECT_EQ(to_text(example(), 0, true, nullptr).back().substr(0, 7), "\033[31;1m");
  EXPECT_EQ(toned("x", Tone::kWarn, true), "\033[33mx\033[0m");
}

TEST(Tables, MarkdownKeepsItsShapeWhateverIsInTheCells) {
  Table table;
  table.columns = {{"g", "a|b", "us", true, 0, false}, {"", "c", "", false, 0, false}};
  table.rows = {{{"x|y\nz", "<b>"}, Tone::kPlain}, {{"`*_\\", ""}, Tone::kPlain}};
  EXPECT_EQ(to_markdown(table),
            "| g a\\|b (us) | c |\n| :--- | ---: |\n| x\\|y z | &lt;b> |\n| \\`\\*\\_\\\\ | - |\n");
  EXPECT_EQ(markdown_escape("raw_pingpong _x_ [1] &amp;"),
            "raw_pingpong \\_x\\_ \\[1\\] &amp;amp;");
}

}  // namespace
}  // namespace plumbline
