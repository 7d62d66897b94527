// Builds tables from the rows that docs/adding.md shows and uses them.

#include <gmock/gmock.h>

#include "collectives/schedule.h"
#include "probes/judges/judges.h"
#include "probes/probe.h"
#include "reports/report.h"
#include "tests/support/collective_case.h"
#include "tests/support/opened_world.h"
#include "transport/memory/memory.h"

namespace plumbline {

Schedule build_broadcast_star(const ScheduleRequest& request);
std::vector<Check> judge_mtu_probing(const EvidenceSet& evidence, const ProbeParams& params);
ReportRow slowest_report();
std::string pair_unavailable(bool ranks_in_process);
Expected<std::unique_ptr<TransportClaim>> claim_pair(const ClaimSpec& spec);

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

TEST(Adding, TheTransportOfTheRecipeCarriesEveryAlgorithm) {
  const std::vector<TransportRow> table = {
#include "transport_row.inc"
  };
  const auto row = find_transport(table, "pair", true);
  ASSERT_TRUE(row) << row.error().message();
  EXPECT_THAT(find_transport(table, "pair", false).error().message(),
              testing::HasSubstr("--ranks-in-process"));
  for (const int ranks : {1, 2, 4}) {
    OpenedWorld opened;
    std::string wrong;
    World world = open_all(**row, ranks, opened, wrong);
    ASSERT_EQ(wrong, "") << ranks;
    EXPECT_EQ(world[0]->transport_name(), "pair");
    std::vector<OperationSpec> specs;
    for (const AlgorithmRow& algorithm : algorithm_table()) {
      for (const uint64_t count : {1, 100'000}) {
        OperationSpec spec;
        spec.op = algorithm.op;
        spec.algorithm = algorithm.name;
        spec.count = algorithm.op == Op::kBarrier ? 0 : count;
        ScheduleRequest request;
        request.op = spec.op;
        request.size = ranks;
        request.count = spec.count;
        const bool can = plumbline::row(spec.op).min_ranks <= ranks;
        if (can && algorithm.unsupported(request).empty()) specs.push_back(spec);
      }
    }
    EXPECT_EQ(run_all_verified(world, specs, 20261123), "") << ranks;
  }
}

}  // namespace
}  // namespace plumbline
