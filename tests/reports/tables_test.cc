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

// Rows that differ in one column looked alike where that column had no room.
TEST(Tables, AKeyColumnStaysWhileRowsWouldLookAlikeWithoutIt) {
  Table table;
  table.columns = {key_column({"", "name", "", true, 0, false}),
                   key_column({"", "variant", "", true, 9, false}),
                   key_column({"", "place", "", true, 8, false}),
                   {"", "time", "us", false, 1, false},
                   {"", "because", "", true, 2, false}};
  table.rows = {{{"allreduce", "", "out", "1.23", "a reason"}, Tone::kPlain},
                {{"allreduce", "sync window", "out", "1.23", "a reason"}, Tone::kPlain}};
  std::vector<std::string> left_out;
  const auto lines = to_text(table, 27, false, &left_out);
  EXPECT_EQ(left_out, (std::vector<std::string>{"time (us)", "because", "place"}));
  EXPECT_NE(lines[lines.size() - 1], lines[lines.size() - 2]);
  EXPECT_EQ(lines.back(), "allreduce  sync window");
  // Cut where even that has no room, with a mark.
  for (const std::string& line : to_text(table, 18, false, nullptr)) {
    EXPECT_LE(display_width(line), 18U) << line;
  }
  EXPECT_NE(to_text(table, 18, false, nullptr).back().find('~'), std::string::npos);
}

TEST(Tables, WhatAllRowsShareIsLiftedWhereTheColumnMay) {
  Table table;
  table.columns = {{"", "kind", "", true, 0, false, Lift::kWhenSame},
                   {"", "redop", "", true, 0, false, Lift::kWhenSameOrEmpty},
                   {"", "variant", "", true, 0, false, Lift::kWhenSame},
                   {"", "empty", "", true, 0, false, Lift::kWhenSame},
                   {"", "verdict", "", true, 0, false}};
  table.rows = {{{"latency", "sum", "", "", "same"}, Tone::kPlain},
                {{"latency", "", "sync window", "", "same"}, Tone::kBad}};
  const auto lifted = lift_constants(table);
  const std::vector<std::pair<std::string, std::string>> expected = {{"kind", "latency"},
                                                                     {"redop", "sum"}};
  EXPECT_EQ(lifted, expected);
  ASSERT_EQ(table.columns.size(), 2U);
  EXPECT_EQ(table.columns[0].name, "variant");
  EXPECT_EQ(table.rows[1].cells, (std::vector<std::string>{"sync window", "same"}));
  Table none;
  none.columns = table.columns;
  EXPECT_TRUE(lift_constants(none).empty());
}

TEST(Tables, APathLosesItsBeginningAndOthersTheirPlaceOnlyAfterThat) {
  Table table;
  table.columns = {{"", "id", "", true, 0, false},
                   {"", "cells", "", true, 2, false},
                   {"", "folder", "", true, 1, false}};
  table.columns.back().path = true;
  table.rows = {
      {{"3f2a", "30 passed", "/data/me/measurements/plumbline-out/quickstart-1"}, Tone::kPlain}};
  EXPECT_EQ(to_text(table, 40, false, nullptr).back(), "3f2a  30 passed  ...ine-out/quickstart-1");
  std::vector<std::string> left_out;
  EXPECT_EQ(to_text(table, 30, false, &left_out).back(), "3f2a  ...line-out/quickstart-1");
  EXPECT_EQ(left_out, (std::vector<std::string>{"cells"}));
  EXPECT_EQ(to_text(table, 0, false, nullptr).back(),
            "3f2a  30 passed  /data/me/measurements/plumbline-out/quickstart-1");
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
