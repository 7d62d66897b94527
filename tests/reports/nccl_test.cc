#include "reports/export/nccl.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

namespace plumbline {
namespace {

NcclSide side(double time_us, double algbw, double busbw, std::optional<uint64_t> wrong) {
  NcclSide s;
  s.time_us = time_us;
  s.algbw = algbw;
  s.busbw = busbw;
  s.wrong = wrong;
  return s;
}

// Lines as nccl-tests prints them, taken from published logs of its versions 2.10 to 2.17.
TEST(Nccl, HeaderIsByteExact) {
  std::ostringstream out;
  NcclWriter(out).header();
  EXPECT_EQ(out.str(),
            "#\n"
            "#                                                              out-of-place           "
            "            in-place          \n"
            "#       size         count      type   redop    root     time   algbw   busbw #wrong "
            "    time   algbw   busbw #wrong\n"
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)         "
            "   (us)  (GB/s)  (GB/s)       \n");
}

TEST(Nccl, RowsAreByteExact) {
  std::ostringstream out;
  NcclWriter writer(out);
  writer.row({8, 2, "float", "sum", -1, side(24.47, 0, 0, 0), side(24.12, 0, 0, 0)});
  writer.row({256, 4, "float", "none", -1, side(235.2, 0.001, 0.001, 0),
              side(235.1, 0.001, 0.001, std::nullopt)});
  writer.row({8589934592, 2147483648, "float", "sum", 0, side(34462, 249.26, 467.36, 0),
              side(34482, 249.11, 467.08, 1234567)});
  EXPECT_EQ(out.str(),
            "           8             2     float     sum      -1    24.47    0.00    0.00      0  "
            "  24.12    0.00    0.00      0\n"
            "         256             4     float    none      -1    235.2    0.00    0.00      0  "
            "  235.1    0.00    0.00    N/A\n"
            "  8589934592    2147483648     float     sum       0    34462  249.26  467.36      0  "
            "  34482  249.11  467.08  1.23457e+06\n");
}

TEST(Nccl, PreambleIsByteExact) {
  std::ostringstream out;
  NcclSetup setup;
  setup.min_bytes = 8;
  setup.max_bytes = 134217728;
  setup.step = 2;
  setup.step_is_factor = true;
  setup.warmup_iterations = 5;
  setup.iterations = 20;
  setup.validation = 1;
  NcclDevice device;
  device.pid = 5092;
  device.host = "GENOA-06";
  device.bus = "lo";
  device.name = "127.0.0.1";
  NcclWriter(out).preamble(setup, {device});
  EXPECT_EQ(out.str(),
            "# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 "
            "iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
            "#  Rank  0 Group  0 Pid   5092 on   GENOA-06 device  0 [lo] 127.0.0.1\n");
}

TEST(Nccl, FooterCountsWrongPlacementsAndAverages) {
  std::ostringstream out;
  NcclWriter writer(out);
  writer.row({8, 2, "float", "sum", -1, side(1, 1, 1.5, 0), side(1, 1, 2.5, 0)});
  out.str("");
  writer.footer();
  EXPECT_EQ(out.str(), "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 2 \n#\n");
  writer.row({8, 2, "float", "sum", -1, side(1, 1, 2, 7), std::nullopt});
  out.str("");
  writer.footer();
  EXPECT_EQ(out.str(), "# Out of bounds values : 1 FAILED\n# Avg bus bandwidth    : 2 \n#\n");
}

TEST(Nccl, FooterWithoutRows) {
  std::ostringstream out;
  NcclWriter(out).footer();
  EXPECT_EQ(out.str(),
            "# Out of bounds values : N/A (nothing was measured)\n"
            "# Avg bus bandwidth    : N/A \n#\n");
}

TEST(Nccl, CollectiveTestLinesOfLaterVersionsStandAroundTheTable) {
  EXPECT_EQ(nccl_program("allreduce"), "all_reduce_perf");
  EXPECT_EQ(nccl_program("allgather"), "all_gather_perf");
  EXPECT_EQ(nccl_program("reduce_scatter"), "reduce_scatter_perf");
  EXPECT_EQ(nccl_program("sendrecv"), "sendrecv_perf");
  std::ostringstream out;
  NcclWriter writer(out);
  NcclSetup setup;
  setup.program = nccl_program("allreduce");
  setup.algorithm = "ring";
  setup.transport = "tcp";
  writer.preamble(setup, {});
  EXPECT_EQ(out.str().find("# plumbline " PLUMBLINE_VERSION " algorithm ring transport tcp\n"
                           "# Collective test starting: all_reduce_perf\n# nThread 1 "),
            0U)
      << out.str();
  out.str("");
  writer.footer();
  EXPECT_EQ(out.str(),
            "# Out of bounds values : N/A (nothing was measured)\n"
            "# Avg bus bandwidth    : N/A \n#\n"
            "# Collective test concluded: all_reduce_perf\n");
}

// It said OK of what nobody had checked, and bandwidths of 0 of what was not measured.
TEST(Nccl, FooterNeverSaysOkOrABandwidthOfNothing) {
  const auto footer = [](const NcclRow* row, bool spoiled) {
    std::ostringstream out;
    NcclWriter writer(out);
    if (row != nullptr) writer.row(*row);
    if (spoiled) writer.spoiled();
    out.str("");
    writer.footer();
    return out.str();
  };
  const std::string no_mean = "# Avg bus bandwidth    : N/A \n#\n";
  EXPECT_EQ(footer(nullptr, true), "# Out of bounds values : 1 FAILED\n" + no_mean);
  const NcclRow failed{8, 2, "float", "sum", -1, std::nullopt, std::nullopt};
  EXPECT_EQ(footer(&failed, false),
            "# Out of bounds values : N/A (nothing was measured)\n" + no_mean);
  const NcclRow barrier{0, 0, "float", "none", -1, side(5, 0, 0, 0), std::nullopt};
  EXPECT_EQ(footer(&barrier, false), "# Out of bounds values : 0 OK\n" + no_mean);
  const NcclRow unchecked{8, 2, "float", "sum", -1, side(1, 1, 2, std::nullopt), std::nullopt};
  EXPECT_EQ(footer(&unchecked, false),
            "# Out of bounds values : N/A (not checked)\n# Avg bus bandwidth    : 2 \n#\n");
}

TEST(Nccl, NothingThatIsNotANumberIsPrintedAsOne) {
  std::ostringstream out;
  NcclWriter writer(out);
  NcclSide odd = side(std::nan(""), std::nan(""), std::nan(""), 0);
  odd.p50_us = std::numeric_limits<double>::infinity();
  writer.row({0, 0, "float", "none", -1, odd, std::nullopt});
  writer.footer();
  EXPECT_EQ(out.str().find("nan"), std::string::npos) << out.str();
  EXPECT_EQ(out.str().find("inf"), std::string::npos) << out.str();
}

TEST(Nccl, CommentsStayOnOneLine) {
  std::ostringstream out;
  NcclWriter(out).comment("skipped:\n8 8 float");
  EXPECT_EQ(out.str(), "# skipped: 8 8 float\n");
}

}  // namespace
}  // namespace plumbline
