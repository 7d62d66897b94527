// Builds tables from the rows that docs/adding.md shows and uses them.

#include <gmock/gmock.h>

#include "collectives/cell_run.h"
#include "collectives/schedule.h"
#include "probes/judges/judges.h"
#include "probes/probe.h"
#include "reports/html/page.h"
#include "reports/kind_view.h"
#include "reports/report.h"
#include "scenarios/block_kinds.h"
#include "scenarios/read.h"
#include "tests/support/collective_case.h"
#include "tests/support/opened_world.h"
#include "transport/memory/memory.h"

namespace plumbline {

Schedule build_broadcast_star(const ScheduleRequest& request);
std::vector<Check> judge_mtu_probing(const EvidenceSet& evidence, const ProbeParams& params);
ReportRow slowest_report();
std::string pair_unavailable(bool ranks_in_process);
Expected<std::unique_ptr<TransportClaim>> claim_pair(const ClaimSpec& spec);
Expected<Measurement> measure_pauses(const Cell& cell, const MeasureSettings& settings,
                                     const MeasureContext& context);
std::string ordered_unsupported(const Cell& cell);
Expected<std::unique_ptr<Engine>> open_ordered(const EngineContext& context);

// The rows of the new kind, with the enumerator that the recipe adds.
namespace recipe {

struct CellKind {
  static constexpr plumbline::CellKind kPause = static_cast<plumbline::CellKind>(100);
};

#include "pause_keys.inc"

const std::vector<CellKindRow> kKinds = {
#include "kind_row.inc"
};
const std::vector<CellRunRow> kRuns = {
#include "run_row.inc"
};
const std::vector<BlockKindRow> kBlocks = {
#include "block_row.inc"
};
const std::vector<KindView> kViews = {
#include "view_row.inc"
};
const std::vector<PageSection> kSections = {
#include "section_row.inc"
};

}  // namespace recipe

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

std::string always_available() { return {}; }

// A cell on three ranks, over the engine of a row.
Measurement measured(decltype(&measure) how, const Cell& cell, const EngineRow& row) {
  World world = make_memory_groups(3, channel_options_for(kWireShapes[0]), {0, true}, 1 << 16);
  const OptionSet options;
  MeasureSettings settings;
  settings.fixed_iterations = 20;
  std::vector<Measurement> of_rank(world.size());
  const std::vector<std::string> said =
      on_every_rank(world, [&](int rank, Group& group) -> std::string {
        Executor executor(group, test_kernels());
        const auto engine = row.open({&group, &executor, &test_kernels(), &options});
        if (!engine) return engine.error().message();
        MeasureContext context;
        context.group = &group;
        context.executor = &executor;
        context.engine = engine->get();
        context.kernels = &test_kernels();
        context.options = &options;
        auto result = how(cell, settings, context);
        if (!result) return result.error().message();
        of_rank[static_cast<size_t>(rank)] = std::move(*result);
        return {};
      });
  EXPECT_EQ(first_of(said), "");
  EXPECT_EQ(of_rank[0].samples_ns, of_rank[2].samples_ns);
  return of_rank[0];
}

Cell sum_of(uint64_t bytes) {
  Cell cell;
  cell.op = "allreduce";
  cell.ranks = 3;
  cell.bytes = bytes;
  cell.count = bytes / 4;
  return cell;
}

TEST(Adding, TheKindOfTheRecipeIsExpandedRunAndShown) {
  const CellKindRow& kind = recipe::kKinds.at(0);
  EXPECT_EQ(kind.name, std::string("pause"));
  EXPECT_TRUE(kind.times_operations() && kind.has("engine") && !kind.has("stop"));
  const Measurement m = measured(recipe::kRuns.at(0).run, sum_of(4096), engine_table()[0]);
  EXPECT_EQ(m.outcome, Outcome::kPassed);
  EXPECT_EQ(m.samples_ns.size(), 20u);
  EXPECT_EQ(m.wrong, 0u);
  EXPECT_TRUE(recipe::kRuns.at(0).memory(sum_of(4096), true, OptionSet()));

  MatrixBlock block;
  block.op = {"allreduce"};
  block.bytes = {64, 128};
  block.ranks = {2};
  const std::vector<ScenarioHost> hosts = local_hosts(2);
  const Vocabulary vocabulary;
  EXPECT_EQ(recipe::kBlocks.at(0).cells(block, {&hosts, &vocabulary}).size(), 2u);

  std::vector<Record> records(1);
  records[0].cell = sum_of(4096);
  records[0].measurement = m;
  recompute(records[0]);
  const View view = make_view(records);
  KindView shown = recipe::kViews.at(0);
  shown.kind = records[0].cell.kind;
  Document document;
  shown.add(view, shown, document);
  EXPECT_FALSE(document.blocks.empty());
  EXPECT_EQ(recipe::kSections.at(0).id, std::string(kind.name));
}

TEST(Adding, TheEngineOfTheRecipeIsMeasuredAndRight) {
  const std::vector<EngineRow> table = {
#include "engine_row.inc"
  };
  const auto row = find_engine(table, "ordered");
  ASSERT_TRUE(row) << row.error().message();
  Cell cell = sum_of(100'000);
  EXPECT_EQ((*row)->unsupported(cell), "");
  for (const CellKind kind : {CellKind::kLatency, CellKind::kCheck}) {
    cell.kind = kind;
    const Measurement m = measured(measure, cell, **row);
    EXPECT_EQ(m.outcome, Outcome::kPassed) << m.reason;
    EXPECT_TRUE(m.verified);
    EXPECT_EQ(m.resolved.algorithm, "ordered");
    EXPECT_EQ(m.samples_ns.size(), kind == CellKind::kCheck ? 0u : 20u);
  }
  cell.dtype = "i32";
  EXPECT_THAT((*row)->unsupported(cell), testing::HasSubstr("f32 sums only"));
}

}  // namespace
}  // namespace plumbline
