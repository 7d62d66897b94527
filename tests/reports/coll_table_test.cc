// The table of `coll` for people.
#include "reports/coll_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reports/text.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

NcclSide row_side(double time_us, double busbw, std::optional<uint64_t> wrong = 0) {
  NcclSide s;
  s.time_us = time_us;
  s.algbw = s.busbw = busbw;
  s.wrong = wrong;
  s.p50_us = time_us;
  s.ci_low_us = time_us - 1;
  s.ci_high_us = time_us + 1;
  return s;
}

CollTableSpec spec_of(int width) {
  CollTableSpec spec;
  spec.op = "allreduce";
  spec.ranks = 2;
  spec.types = {"float"};
  spec.redops = {"sum"};
  spec.time = "mean over the ranks";
  spec.in_place = spec.enough_for_ci = true;
  spec.width = width;
  return spec;
}

std::string written(const CollTableSpec& spec, const std::vector<NcclRow>& rows) {
  std::ostringstream out;
  CollTable table(out, spec);
  NcclSetup setup;
  setup.algorithm = setup.transport = "auto";
  setup.max_bytes = 65536;
  setup.iterations = 20;
  setup.warmup_iterations = 1;
  NcclDevice device;
  device.host = "node1";
  device.bus = "eth0";
  device.name = "10.0.0.1";
  NcclDevice second = device;
  second.rank = 1;
  table.preamble(setup, {device, second});
  table.header();
  for (const NcclRow& row : rows) table.row(row);
  table.verified(7, 40);
  table.footer();
  return out.str();
}

NcclRow row(uint64_t size) {
  return {size, size / 4, "float", "sum", -1, row_side(12.3, 1.5), row_side(11.9, 2.5)};
}

TEST(CollTable, WhatAllRowsShareStandsAboveThem) {
  EXPECT_EQ(written(spec_of(80), {row(8), row(65536)}),
            "allreduce float sum, 2 ranks, algorithm auto, transport auto\n"
            "20 operations per size after 1 to warm up; time: mean over the ranks; p50:\n"
            "median of the slowest rank\n"
            "ranks 0-1 on node1: eth0 10.0.0.1\n"
            "\n"
            "         ----------- out of place ------------   --------- in place ----------\n"
            "  size     time   algbw   busbw wrong      p50      time   algbw   busbw wrong\n"
            "   (B)     (us)  (GB/s)  (GB/s)           (us)      (us)  (GB/s)  (GB/s)\n"
            "     8    12.30    1.50    1.50     0    12.30     11.90    2.50    2.50     0\n"
            " 65536    12.30    1.50    1.50     0    12.30     11.90    2.50    2.50     0\n"
            "\n"
            "No wrong data; verified 7 of 40 operations\n"
            "Bus bandwidth: 2.00 GB/s on average, 2.50 GB/s at most\n");
}

TEST(CollTable, FitsEveryWidthAndUsesIt) {
  for (int width = 40; width <= 200; ++width) {
    std::istringstream lines(written(spec_of(width), {row(65536)}));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), static_cast<size_t>(width)) << line;
    }
  }
  EXPECT_THAT(written(spec_of(80), {row(8)}), Not(HasSubstr("95% CI")));
  for (const int width : {120, 0}) {
    EXPECT_THAT(written(spec_of(width), {row(8)}), HasSubstr("11.30..13.30"));
    EXPECT_THAT(written(spec_of(width), {row(8)}), HasSubstr("10.90..12.90"));
  }
}

TEST(CollTable, ColumnsThatCannotFillAreNotThere) {
  CollTableSpec spec = spec_of(0);
  spec.in_place = spec.checked = spec.moves_data = spec.enough_for_ci = false;
  spec.types = spec.redops = {};
  const NcclRow barrier{0, 0, "float", "none", -1, row_side(3, 0, std::nullopt), std::nullopt};
  const std::string text = written(spec, {barrier});
  for (const char* gone : {"busbw", "algbw", "wrong", "place", "95% CI", "p99", "size  ", "type"}) {
    EXPECT_THAT(text, Not(HasSubstr(gone))) << gone;
  }
  EXPECT_THAT(text, HasSubstr("\n    3.00     3.00\n"));
  EXPECT_THAT(text, HasSubstr("\nData not checked\n"));
  EXPECT_THAT(text, Not(HasSubstr("Bus bandwidth")));
  spec.enough_for_p99 = true;
  EXPECT_THAT(written(spec, {barrier}), HasSubstr("p99"));
}

TEST(CollTable, RowsThatDifferInTypeOperatorOrRootShowIt) {
  CollTableSpec spec = spec_of(80);
  spec.types = {"float", "half"};
  spec.redops = {"sum", "max"};
  spec.roots = {"0", "1"};
  NcclRow one = row(8), other = one;
  other.type = "half";
  other.redop = "max";
  other.root = 1;
  const std::string text = written(spec, {one, other});
  for (const char* shown : {"type", "redop", "root", "half", "max"}) {
    EXPECT_THAT(text, HasSubstr(shown));
  }
  EXPECT_THAT(text, HasSubstr("allreduce, 2 ranks,"));
}

TEST(CollTable, ListsOfArraysAreSaidOnceOrInAColumn) {
  CollTableSpec spec = spec_of(80);
  EXPECT_THAT(written(spec, {row(8)}), Not(HasSubstr("arrays")));
  NcclRow list = row(8);
  list.arrays = 64;
  spec.arrays = {"64"};
  const std::string once = written(spec, {list});
  EXPECT_THAT(once, HasSubstr("allreduce float sum, lists of 64 arrays, 2 ranks,"));
  EXPECT_THAT(once, Not(HasSubstr(" arrays   ")));
  spec.arrays = {"1", "64"};
  const std::string column = written(spec, {row(8), list});
  EXPECT_THAT(column, HasSubstr("allreduce float sum, 2 ranks,"));
  EXPECT_THAT(column, HasSubstr("  size arrays     time"));
  EXPECT_THAT(column, HasSubstr("\n     8     64    12.30"));
}

TEST(CollTable, NothingIsSaidToBeRightThatIsNot) {
  NcclRow wrong = row(8);
  wrong.in->wrong = 3;
  EXPECT_THAT(written(spec_of(80), {wrong}), HasSubstr("WRONG DATA in 1 measurement; verified"));
  NcclRow failed = row(8);
  failed.out.reset();
  failed.in.reset();
  const std::string text = written(spec_of(80), {failed});
  EXPECT_THAT(text, HasSubstr("Nothing was measured"));
  EXPECT_THAT(text, Not(HasSubstr("No wrong data")));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  std::ostringstream out;
  CollTable spoiled(out, spec_of(80));
  spoiled.spoiled();
  spoiled.footer();
  EXPECT_THAT(out.str(), HasSubstr("WRONG DATA in 1 measurement\n"));
}

TEST(CollTable, NamesOfHostsCannotMoveTheCursor) {
  std::ostringstream out;
  CollTable table(out, spec_of(80));
  NcclDevice device;
  device.host = "evil\033[2J\nhost";
  table.preamble({}, {device});
  table.comment("a\rb");
  EXPECT_THAT(out.str(), Not(HasSubstr("\033")));
  EXPECT_THAT(out.str(), Not(HasSubstr("\r")));
  EXPECT_THAT(out.str(), HasSubstr("evil\\x1b[2J host\n"));
}

}  // namespace
}  // namespace plumbline
