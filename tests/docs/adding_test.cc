// Builds tables from the rows that docs/adding.md shows and uses them.

#include <gtest/gtest.h>

#include "collectives/schedule.h"
#include "probes/judges/judges.h"
#include "probes/probe.h"
#include "reports/report.h"

namespace plumbline {

Schedule build_broadcast_star(const ScheduleRequest& request);
std::vector<Check> judge_mtu_probing(const EvidenceSet& evidence, const ProbeParams& params);
ReportRow slowest_report();

namespace {

std::string any_size(const ScheduleRequest&) { return {}; }

TEST(Adding, TheAlgorithmOfTheRecipeIsRight) {
  const std::vector<AlgorithmRow> table = {
#include "algorithm_row.inc"
  };
  ASSERT_EQ(table.size(), 1u);
  for (int size = 1; size <= 9; ++size) {
    for (const uint64_t count : {0, 1, 5}) {
      ScheduleRequest request;
      request.op = table[0].op;
      request.size = size;
      request.root = size / 2;
      request.count = count;
      for (const bool in_place : {false, true}) {
        request.in_place = in_place;
        EXPECT_EQ(check_schedule(table[0], request), "") << size << " ranks, count " << count;
      }
    }
  }
}

TEST(Adding, TheProbeOfTheRecipeAnswers) {
  const std::vector<ProbeRow> table = {
#include "probe_row.inc"
  };
  EvidenceSet evidence;
  evidence.hosts.resize(2);
  EXPECT_EQ(table.at(0).judge(evidence, {}).size(), 2u);
}

TEST(Adding, TheReportOfTheRecipeHasARow) {
  const std::vector<ReportRow> table = {
#include "report_row.inc"
  };
  EXPECT_EQ(table.at(0).descriptor.name, "slowest");
}

}  // namespace
}  // namespace plumbline
