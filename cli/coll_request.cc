#include "cli/coll_request.h"

#include <fmt/format.h>

#include "collectives/cell_run.h"
#include "collectives/engine.h"
#include "collectives/list_work.h"
#include "collectives/schedule.h"
#include "collectives/verifier.h"
#include "core/codec.h"
#include "scenarios/expand.h"
#include "scenarios/placement.h"

namespace plumbline {
namespace {

// What a row has beside its size.
struct RowValues {
  DType dtype;
  RedOp redop;
  int root, arrays;
};

PlanCell cell_of(const CollSweep& sweep, const OptionSet& options, CollOutput output,
                 const RowValues& values, uint64_t bytes) {
  PlanCell planned;
  Cell& cell = planned.cell;
  cell.ranks = sweep.ranks;
  cell.split = sweep.split;
  const Shape shape = shape_of(sweep.op, values.dtype, group_ranks(cell), bytes);
  cell.kind = CellKind::kBandwidth;
  cell.op = to_string(sweep.op);
  cell.engine = sweep.engine;
  cell.transport = options.text("transport");
  cell.algorithm = options.text("algorithm");
  cell.compression = compression_of(options);
  cell.dtype = to_string(values.dtype);
  cell.redop = row(sweep.op).reduces ? to_string(values.redop) : "none";
  cell.root = values.root;
  cell.arrays = values.arrays;
  cell.bytes = shape.bytes;
  cell.count = shape.count;
  cell.sync = sweep.sync;
  cell.cache = sweep.cache;
  planned.fixed = sweep.count;
  // nccl-tests' columns have no p99, and its number of operations is 20.
  planned.fixed->tail = !sweep.iterations_given && output != CollOutput::kNccl;
  return planned;
}

// The cells of one row.
void add_row(const CollSweep& sweep, CollOutput output, PlanCell out,
             std::vector<PlanCell>& cells) {
  out.cell.placement = "out";
  cells.push_back(out);
  if (row(sweep.op).has_in_place) {
    out.cell.placement = "in";
  } else if (measures_again(sweep, output)) {
    out.fixed->verified = false;
  } else {
    return;
  }
  cells.push_back(std::move(out));
}

// Refuses a row that means nothing or that the engine cannot do. Where the engine lacks the form in
// place alone, those columns stay empty.
Status check_row(const CollSweep& sweep, std::vector<PlanCell>& cells, size_t first) {
  if (const std::string why = cell_reduction_unsupported(cells[first].cell); !why.empty()) {
    return tl::unexpected(usage_error(
        fmt::format("-d {} -o {}: {}", cells[first].cell.dtype, cells[first].cell.redop, why), ""));
  }
  for (size_t i = first; i < cells.size(); ++i) {
    const std::string why = engine_unsupported(cells[i].cell, sweep.ranks_in_process);
    if (why.empty()) continue;
    std::string text = fmt::format("engine {}: {}", sweep.engine, why);
    if (i == first) return fail(usage_error(text, "choose another engine"));
    cells[i].skip = std::move(text);
  }
  if (const std::string why = compression_unsupported(cells[first].cell); !why.empty()) {
    return tl::unexpected(usage_error("--compression: " + why, "or leave out --compression"));
  }
  if (const std::string why = arrays_unsupported(cells[first].cell); !why.empty()) {
    return tl::unexpected(usage_error("--arrays: " + why, "or leave out --arrays"));
  }
  return {};
}

Status add_sizes(const CollSweep& sweep, const OptionSet& options, CollOutput output,
                 const RowValues& values, std::vector<PlanCell>& cells) {
  for (const uint64_t bytes : sweep.sizes()) {
    const size_t first = cells.size();
    add_row(sweep, output, cell_of(sweep, options, output, values, bytes), cells);
    if (const Status can = check_row(sweep, cells, first); !can) return can;
  }
  return {};
}

Error too_many_ranks(const CollSweep& sweep, int places) {
  if (!sweep.ranks_given) {
    return usage_error(fmt::format("{} ranks are needed, and the hosts have {} place{}",
                                   sweep.ranks, places, places == 1 ? "" : "s"),
                       "without --ranks each host of the file gets one: name more hosts");
  }
  return usage_error(fmt::format("--ranks {} but the hosts have {} places", sweep.ranks, places),
                     "give fewer ranks, or more places in the host file");
}

// What its groups by colour go by.
Cell groups_cell(const CollSweep& sweep) {
  Cell cell;
  cell.op = to_string(sweep.op);
  cell.engine = sweep.engine;
  cell.ranks = sweep.ranks;
  cell.split = sweep.split;
  return cell;
}

Status check_split(const CollSweep& sweep) {
  const Cell cell = groups_cell(sweep);
  if (const std::string why = groups_unsupported(cell); !why.empty()) {
    return fail(usage_error("--split: " + why, ""));
  }
  const int least = row(sweep.op).min_ranks;
  if (group_ranks(cell) >= least) return {};
  return fail(usage_error(fmt::format("--split {}: {} needs groups of {} ranks or more, not of {}",
                                      sweep.split, cell.op, least, group_ranks(cell)),
                          "give more --ranks"));
}

// Refuses an engine or algorithm that cannot do this before anything starts; of an order of a ring
// also one in which the hosts' file keeps neighbours apart.
Status check_engine(const CollSweep& sweep, const OptionSet& options,
                    const std::vector<ScenarioHost>& hosts) {
  if (const auto found = find_engine(sweep.engine); !found) return fail(found.error());
  ScheduleRequest request;
  request.op = sweep.op;
  Cell cell = groups_cell(sweep);
  request.size = group_ranks(cell);
  request.count = 1;
  cell.algorithm = options.text("algorithm");
  if (const auto found = find_algorithm(cell.algorithm, request); !found) {
    return fail(found.error());
  }
  return order_connects(cell, apart_ranks(hosts, place_ranks(hosts, world_of(cell))));
}

}  // namespace

std::string compression_of(const OptionSet& options) {
  const std::string& compression = options.text("compression");
  return compression == kNoCodec ? "" : compression;
}

bool measures_again(const CollSweep& sweep, CollOutput output) {
  return output == CollOutput::kNccl && !row(sweep.op).has_in_place;
}

tl::expected<std::vector<PlanCell>, std::vector<Error>> coll_cells(
    const std::vector<ScenarioHost>& hosts, const CollSweep& sweep, const OptionSet& options,
    CollOutput output) {
  if (sweep.ranks > places(hosts) && !all_local(hosts)) {
    return tl::unexpected(std::vector<Error>{too_many_ranks(sweep, places(hosts))});
  }
  if (const Status can = check_split(sweep); !can) {
    return tl::unexpected(std::vector<Error>{can.error()});
  }
  if (const Status can = check_engine(sweep, options, hosts); !can) {
    return tl::unexpected(std::vector<Error>{can.error()});
  }
  std::vector<PlanCell> cells;
  for (const int arrays : sweep.arrays) {
    for (const DType dtype : sweep.dtypes) {
      for (const RedOp redop : sweep.redops) {
        if (sweep.leaves_out(dtype, redop)) continue;
        for (const int root : sweep.roots) {
          const Status added =
              add_sizes(sweep, options, output, {dtype, redop, root, arrays}, cells);
          if (!added) return tl::unexpected(std::vector<Error>{added.error()});
        }
      }
    }
  }
  return cells;
}

// The N operations of a sample work on the same arrays, each over what the one before it left.
Status check_aggregates(const CollSweep& sweep, const OptionSet& options) {
  const FixedCount& count = sweep.count;
  if (count.aggregate == 1 || verify_mode(options, count.verified) != VerifyMode::kEvery) return {};
  return fail(ErrorCode::kUsage,
              fmt::format("-m {} and --verify every: of {} operations on the same arrays only the "
                          "last one leaves a result that can be compared",
                          count.aggregate, count.aggregate),
              "leave out -m, or take --verify sampled");
}

}  // namespace plumbline
