#include "scenarios/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "collectives/cell_run.h"
#include "collectives/list_work.h"
#include "core/codec.h"
#include "core/op.h"
#include "scenarios/block_kinds.h"
#include "scenarios/json_text.h"
#include "scenarios/placement.h"

namespace plumbline {
namespace {

struct Axis {
  const MatrixBlock& block;
  const ExpandContext& context;
  std::vector<Cell>& out;

  template <typename Values, typename Set>
  void each(const Cell& cell, const Values& values, Set set) const {
    for (const auto& value : values) {
      out.push_back(cell);
      set(out.back(), value);
    }
  }
  void one(const Cell& cell) const { out.push_back(cell); }
};

const OpRow& op_row(const Cell& cell) { return row(*op_from(cell.op)); }
bool has_bytes(const Cell& cell) { return op_row(cell).op != Op::kBarrier; }

// Each axis replaces a cell by the cells that its values make of it.
using ApplyAxis = void (*)(const Cell& cell, const Axis& axis);

// The values of a list of the block, one after the other, as this field.
template <auto List, auto Field>
void apply_list(const Cell& cell, const Axis& axis) {
  axis.each(cell, axis.block.*List, [](Cell& c, const auto& value) { c.*Field = value; });
}

void apply_hosts_and_ranks(const Cell& cell, const Axis& axis) {
  for (Cell& placed : with_worlds(cell, axis.block, axis.context)) {
    axis.out.push_back(std::move(placed));
  }
}
void apply_algorithm(const Cell& cell, const Axis& axis) {
  for (const std::string& name : axis.block.algorithm) {
    std::vector<std::string> names = {name};
    if (name == "all") {
      names.clear();
      for (const Descriptor& row : axis.context.vocabulary->algorithms) {
        if (row.group == cell.op) names.push_back(row.name);
      }
      // An operation that has no algorithms of its own to choose from.
      if (names.empty()) names = {"auto"};
    }
    axis.each(cell, names, [](Cell& c, const std::string& n) { c.algorithm = n; });
  }
}
void apply_dtype(const Cell& cell, const Axis& axis) {
  if (!has_bytes(cell)) return axis.one(cell);
  apply_list<&MatrixBlock::dtype, &Cell::dtype>(cell, axis);
}
void apply_redop(const Cell& cell, const Axis& axis) {
  const std::vector<std::string> none = {"none"};
  axis.each(cell, op_row(cell).reduces ? axis.block.redop : none,
            [](Cell& c, const std::string& r) { c.redop = r; });
}
void apply_bytes(const Cell& cell, const Axis& axis) {
  if (!has_bytes(cell)) return axis.one(cell);
  axis.each(cell, axis.block.bytes, [](Cell& c, uint64_t bytes) {
    const Shape shape = shape_of(*op_from(c.op), *dtype_from(c.dtype), group_ranks(c), bytes);
    c.bytes = shape.bytes;
    c.count = shape.count;
  });
}
void apply_root(const Cell& cell, const Axis& axis) {
  if (!op_row(cell).rooted) return axis.one(cell);
  std::vector<int> roots;
  for (const int root : axis.block.root) {
    if (root != kEveryRoot) roots.push_back(root);
    for (int r = 0; root == kEveryRoot && r < group_ranks(cell); ++r) roots.push_back(r);
  }
  axis.each(cell, roots, [](Cell& c, int root) { c.root = root; });
}
void apply_placement(const Cell& cell, const Axis& axis) {
  if (!op_row(cell).has_in_place) return axis.one(cell);
  apply_list<&MatrixBlock::placement, &Cell::placement>(cell, axis);
}
void apply_sync(const Cell& cell, const Axis& axis) {
  if (row(cell.kind).timing != CellTiming::kEach) return axis.one(cell);
  apply_list<&MatrixBlock::sync, &Cell::sync>(cell, axis);
}
void apply_numbers(const Cell& cell, const Axis& axis) {
  std::vector<Cell> cells = {cell};
  for (const NumberAxis& number : kNumberAxes) {
    std::vector<Cell> next;
    for (const int value : axis.block.*number.values) {
      for (Cell& one : cells) {
        one.*number.field = value;
        next.push_back(one);
      }
    }
    cells = std::move(next);
  }
  axis.out.insert(axis.out.end(), cells.begin(), cells.end());
}
void apply_repeat(const Cell& cell, const Axis& axis) {
  for (int i = 0; i < axis.block.repeat; ++i) {
    axis.one(cell);
    axis.out.back().repeat = i;
  }
}

constexpr ApplyAxis kAxes[] = {apply_list<&MatrixBlock::op, &Cell::op>,
                               apply_hosts_and_ranks,
                               apply_list<&MatrixBlock::split, &Cell::split>,
                               apply_list<&MatrixBlock::transport, &Cell::transport>,
                               apply_list<&MatrixBlock::engine, &Cell::engine>,
                               apply_list<&MatrixBlock::compression, &Cell::compression>,
                               apply_algorithm,
                               apply_dtype,
                               apply_redop,
                               apply_bytes,
                               apply_root,
                               apply_placement,
                               apply_sync,
                               apply_numbers,
                               apply_repeat};

using HostSets = std::vector<std::vector<size_t>>;  // indices

std::string join_names(const std::vector<ScenarioHost>& hosts, const std::vector<size_t>& chosen) {
  std::string text;
  for (const size_t host : chosen) {
    if (!text.empty()) text += kHostJoint;
    text += hosts[host].name;
  }
  return text;
}

// 0, 1 ... n - 1.
std::vector<size_t> first_hosts(size_t n) {
  std::vector<size_t> out(n);
  std::iota(out.begin(), out.end(), size_t{0});
  return out;
}

HostSets every_two(size_t hosts) {
  HostSets out;
  for (size_t a = 0; a < hosts; ++a) {
    for (size_t b = a + 1; b < hosts; ++b) out.push_back({a, b});
  }
  return out;
}

Expected<std::vector<size_t>> named_hosts(const std::vector<std::string>& names,
                                          const std::vector<ScenarioHost>& hosts) {
  std::set<size_t> chosen;
  for (const std::string& name : names) {
    const auto found = std::find_if(hosts.begin(), hosts.end(),
                                    [&](const ScenarioHost& host) { return host.name == name; });
    if (found == hosts.end()) {
      return fail(ErrorCode::kConfig, fmt::format("there is no host {}", in_quotes(name)),
                  hint_for(name, row_names(hosts)));
    }
    chosen.insert(static_cast<size_t>(found - hosts.begin()));
  }
  return std::vector<size_t>(chosen.begin(), chosen.end());
}

Expected<HostSets> host_sets_of(const HostChoice& choice, const std::vector<ScenarioHost>& hosts) {
  if (choice.word == "all") return HostSets{first_hosts(hosts.size())};
  if (choice.word == "pairs") return every_two(hosts.size());
  if (choice.word == "groups") return reachable_groups(hosts);
  if (!choice.names.empty()) {
    const auto chosen = named_hosts(choice.names, hosts);
    if (!chosen) return fail(chosen.error());
    return HostSets{*chosen};
  }
  const size_t last = choice.last == 0 ? hosts.size() : choice.last;
  if (std::max(choice.first, last) > hosts.size()) {
    return fail(
        ErrorCode::kConfig,
        fmt::format("{} hosts, but there are {}", std::max(choice.first, last), hosts.size()),
        "name more hosts, or leave out 'to', which means all");
  }
  HostSets out;
  for (size_t n = choice.first; n <= last; ++n) out.push_back(first_hosts(n));
  return out;
}

// Links are measured pair by pair, and those that are apart left out there. Everything else needs
// connections where its messages go: some algorithms keep to them, the tree always does.
std::string why_apart(const Cell& cell, const std::vector<ScenarioHost>& hosts) {
  if (row(cell.kind).own_connections()) return "";
  const RankPairs apart = apart_ranks(hosts, place_ranks(hosts, world_of(cell)));
  if (apart.empty()) return "";
  const auto algorithm = algorithm_between(cell, OptionSet(), apart);
  if (algorithm) return "";
  return fmt::format("{}; {}; with \"hosts\": \"groups\" the hosts that all may talk are measured",
                     apart_reason(hosts, world_of(cell)), algorithm.error().message());
}

}  // namespace

void skip_what_is_apart(std::vector<PlanCell>& cells, const std::vector<ScenarioHost>& hosts) {
  for (PlanCell& planned : cells) {
    if (planned.skip.empty()) planned.skip = why_apart(planned.cell, hosts);
  }
}

std::string cell_reduction_unsupported(const Cell& cell) {
  const auto dtype = dtype_from(cell.dtype);
  const auto redop = redop_from(cell.redop);
  if (!op_row(cell).reduces || !dtype || !redop) return {};
  return reduction_unsupported(*dtype, *redop);
}

std::string compression_unsupported(const Cell& cell) {
  const Expected<Codec> codec = parse_codec(cell.compression);
  if (!codec) return codec.error().message();
  if (!*codec) return {};
  if (cell.engine != kNativeEngine) {
    return fmt::format("{} is done by the engine {} only, not by {}", to_string(*codec),
                       kNativeEngine, cell.engine);
  }
  if (codec->sparse() && cell.algorithm != "auto") {
    return fmt::format(
        "{} exchanges all contributions, which no allreduce algorithm does: use "
        "algorithm auto instead of {}",
        to_string(*codec), cell.algorithm);
  }
  return codec_unsupported(*codec, *op_from(cell.op), *dtype_from(cell.dtype),
                           redop_from(cell.redop).value_or(RedOp::kSum), cell.count);
}

Impossible why_impossible(const Cell& cell, const Vocabulary& vocabulary) {
  if (row(cell.kind).timing == CellTiming::kRequests) {
    if (cell.ranks == 1) return {};
    return {"ranks", fmt::format("one rank asks a server, not {}", cell.ranks)};
  }
  if (row(cell.kind).timing == CellTiming::kPairs) {
    if (cell.ranks >= 2) return {};
    return {"ranks", fmt::format("a link needs at least 2 ranks, not {}", cell.ranks)};
  }
  if (std::string why = groups_unsupported(cell); !why.empty()) return {"split", std::move(why)};
  const OpRow& op = op_row(cell);
  const int ranks = group_ranks(cell);
  if (ranks < op.min_ranks) {
    return {"ranks",
            fmt::format("{} needs at least {} ranks, not {}", op.name, op.min_ranks, ranks)};
  }
  if (cell.root >= ranks) {
    return {"root", fmt::format("there is no rank {} among {} ranks", cell.root, ranks)};
  }
  if (std::string why = cell_reduction_unsupported(cell); !why.empty()) {
    return {"redop", std::move(why)};
  }
  if (vocabulary.engine_unsupported != nullptr) {
    const std::string why = vocabulary.engine_unsupported(cell);
    if (!why.empty()) return {"engine", fmt::format("engine {}: {}", cell.engine, why)};
  }
  if (const std::string why = compression_unsupported(cell); !why.empty()) {
    return {"compression", "compression " + why};
  }
  if (std::string why = arrays_unsupported(cell); !why.empty()) return {"arrays", std::move(why)};
  if (cell.algorithm == "auto") return {};
  const auto& rows = vocabulary.algorithms;
  const bool listed = std::any_of(rows.begin(), rows.end(), [&cell](const Descriptor& row) {
    return row.group == cell.op && row.name == algorithm_base(cell.algorithm);
  });
  if (!rows.empty() && !listed) {
    return {"algorithm", fmt::format("{} has no algorithm '{}'", cell.op, cell.algorithm)};
  }
  if (vocabulary.algorithm_unsupported == nullptr) return {};
  std::string why = vocabulary.algorithm_unsupported(cell.op, cell.algorithm, ranks, cell.count);
  if (why.empty()) return {};
  return {"algorithm",
          fmt::format("{} of {} over {} ranks: {}", cell.algorithm, cell.op, ranks, why)};
}

Expected<std::vector<std::string>> host_sets(const std::vector<HostChoice>& choices,
                                             const std::vector<ScenarioHost>& hosts) {
  std::vector<std::string> out;
  for (const HostChoice& choice : choices) {
    const auto sets = host_sets_of(choice, hosts);
    if (!sets) return fail(sets.error());
    for (const std::vector<size_t>& set : *sets) {
      const std::string text = set.size() == hosts.size() ? "" : join_names(hosts, set);
      if (!contains(out, text)) out.push_back(text);
    }
  }
  return out;
}

std::vector<Cell> with_worlds(const Cell& cell, const MatrixBlock& block,
                              const ExpandContext& context) {
  std::vector<Cell> out;
  const auto sets = host_sets(block.hosts, *context.hosts);
  if (!sets) return out;  // whoever checks the block has reported it
  for (const std::string& set : *sets) {
    const std::vector<int> all_places = {places_in(*context.hosts, set)};
    for (const int ranks : block.ranks.empty() ? all_places : block.ranks) {
      for (const std::string& distribution : block.distribution) {
        out.push_back(cell);
        out.back().hosts = set;
        out.back().ranks = ranks;
        out.back().distribution = distribution;
      }
    }
  }
  return out;
}

std::vector<Cell> operation_cells(const MatrixBlock& block, const ExpandContext& context) {
  Cell first;
  first.kind = block.kind;
  first.params = block.params;
  std::vector<Cell> cells = {first};
  for (const ApplyAxis apply : kAxes) {
    std::vector<Cell> next;
    const Axis axis{block, context, next};
    for (const Cell& cell : cells) {
      apply(cell, axis);
      if (next.size() > kMaxPlanCells) return next;
    }
    cells.swap(next);
  }
  return cells;
}

size_t count_cells(const MatrixBlock& block, const ExpandContext& context) {
  return block_kind_of(block.kind).cells(block, context).size();
}

std::vector<PlanCell> expand_block(const MatrixBlock& block, const ExpandContext& context) {
  std::vector<PlanCell> out;
  std::set<std::string> seen;
  std::vector<Cell> cells = block_kind_of(block.kind).cells(block, context);
  out.reserve(cells.size());
  for (Cell& cell : cells) {
    PlanCell plan_cell;
    plan_cell.id = cell_id(cell);
    if (!seen.insert(plan_cell.id).second) continue;
    plan_cell.stop = block.stop;
    plan_cell.throughput_time_ns = row(block.kind).has("time") ? block.throughput_time_ns : 0;
    plan_cell.skip = why_impossible(cell, *context.vocabulary).reason;
    if (plan_cell.skip.empty()) plan_cell.skip = why_apart(cell, *context.hosts);
    plan_cell.cell = std::move(cell);
    out.push_back(std::move(plan_cell));
  }
  return out;
}

}  // namespace plumbline
