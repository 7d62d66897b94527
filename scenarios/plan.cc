#include "scenarios/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "collectives/cell_run.h"
#include "core/encode.h"
#include "core/op.h"
#include "core/record/cell_filter.h"
#include "scenarios/estimate.h"
#include "scenarios/expand.h"
#include "scenarios/json_text.h"
#include "scenarios/placement.h"
#include "scenarios/read.h"

namespace plumbline {
namespace {

// Options that change where ranks meet and what is printed, not what is measured: a resumed run may
// have others.
constexpr const char* kUnmeasuredOptions[] = {"port_base", "master_port", "log_level"};

// What the bare path is asked for, once per world size and transport.
struct CommonRoof {
  const char* op;
  uint64_t bytes;
};
constexpr CommonRoof kCommonRoofs[] = {{"raw_pingpong", 8},
                                       {"raw_pingpong", 64 * 1024},
                                       {"raw_stream", 16 * 1024 * 1024},
                                       {"raw_duplex", 16 * 1024 * 1024},
                                       {"memcpy", 64 * 1024 * 1024}};
constexpr int kLeastRanks = 2;                 // of whatever machine: fewer measure nothing
constexpr int64_t kRoofTimeNs = 400'000'000;   // each: they are taken for every world size
constexpr int64_t kFloorTimeNs = 100'000'000;  // each: there are more of them
constexpr int64_t kKernelTimeNs = 20'000'000;  // each: for every type, reduction and size
// A reduction of fewer bytes takes less than what starting it costs.
constexpr uint64_t kLeastReduced = 4096;

bool is_roof(const PlanCell& cell) { return cell.cell.kind == CellKind::kRoof; }

// What of a roof depends on the cells that are held against it.
struct WantedRoof {
  std::string op;
  uint64_t bytes = 0;
  std::string dtype = "u8", redop = "none", cache = Cell().cache;
  int64_t time_ns = kFloorTimeNs;

  auto key() const { return std::tie(op, bytes, dtype, redop, cache); }
  bool operator<(const WantedRoof& other) const { return key() < other.key(); }
};

PlanCell roof_of(const WorldShape& world, const WantedRoof& wanted) {
  PlanCell roof;
  roof.cell.kind = CellKind::kRoof;
  roof.cell.op = wanted.op;
  roof.cell.ranks = world.ranks;
  roof.cell.transport = world.transport;
  roof.cell.params = world.params;
  roof.cell.hosts = world.hosts;
  roof.cell.distribution = world.distribution;
  roof.cell.dtype = wanted.dtype;
  roof.cell.redop = wanted.redop;
  roof.cell.cache = wanted.cache;
  roof.cell.bytes = wanted.bytes;
  roof.cell.count = wanted.bytes / size_of(dtype_from(wanted.dtype).value_or(DType::kU8));
  roof.stop.max_time_ns = wanted.time_ns;
  roof.id = cell_id(roof.cell);
  return roof;
}

// The bare path does not depend on the options of a block but for its sockets.
WorldShape path_of(const WorldShape& world) {
  WorldShape path = world;
  path.params.clear();
  return path;
}

// What one cell is held against: the bare transfer of just the messages of a latency, for a
// bandwidth arrays of its size over the path, and the kernel of its reduction.
void add_roofs_of(const Cell& cell, const OptionSet& options, const RankPairs& apart,
                  std::set<WantedRoof>& roofs) {
  const std::optional<Op> op = op_from(cell.op);
  const CellKindRow& kind = row(cell.kind);
  if (!op || kind.timing != CellTiming::kEach) return;
  if (const auto floor = floor_of(cell, options, apart)) {
    roofs.insert({row(floor->manner).roof, floor->bytes});
  }
  if (cell.bytes == 0) return;
  if (kind.headline == Headline::kBusBandwidth) {
    const char* stream = is_two_way(*op) ? "array_duplex" : "array_stream";
    roofs.insert({stream, cell.bytes, "u8", "none", cell.cache});
  }
  if (!row(*op).reduces) return;
  roofs.insert({"reduce_kernel", std::max(cell.bytes, kLeastReduced), cell.dtype, cell.redop,
                cell.cache, kKernelTimeNs});
}

std::vector<PlanCell> roofs_of(const WorldShape& world, const std::vector<PlanCell>& cells,
                               const OptionSet& options, const std::vector<ScenarioHost>& hosts) {
  const RankPairs apart = apart_ranks(hosts, place_ranks(hosts, world));
  std::set<WantedRoof> wanted;
  for (const PlanCell& planned : cells) {
    if (!planned.skip.empty() || path_of(world_of(planned.cell)) != path_of(world)) continue;
    Cell cell = planned.cell;
    // What `auto` will take there decides which messages are its floor.
    if (have_own_cables(hosts, place_ranks(hosts, world_of(cell)))) {
      cell.algorithm = algorithm_between(cell, options, apart, true).value_or(cell.algorithm);
    }
    add_roofs_of(cell, options, apart, wanted);
  }
  std::vector<PlanCell> out;
  for (const auto& [op, bytes] : kCommonRoofs) {
    const WantedRoof common{op, bytes, "u8", "none", Cell().cache, kRoofTimeNs};
    out.push_back(roof_of(world, common));
    wanted.erase(common);
  }
  for (const WantedRoof& roof : wanted) out.push_back(roof_of(world, roof));
  return out;
}

// Worlds of two ranks or more that time something, and so have a use for roofs.
std::set<WorldShape> timed_worlds(const std::vector<PlanCell>& cells) {
  std::set<WorldShape> worlds;
  for (const PlanCell& cell : cells) {
    const bool timed = row(cell.cell.kind).times_operations() && cell.skip.empty();
    if (timed && cell.cell.ranks >= 2) worlds.insert(world_of(cell.cell));
  }
  return worlds;
}

// One set of roofs for worlds over the same path, taken in the first of them.
std::vector<PlanCell> roofs_for(const std::vector<PlanCell>& cells, const OptionSet& options,
                                const std::vector<ScenarioHost>& hosts) {
  std::vector<PlanCell> roofs;
  std::set<WorldShape> done;
  for (const WorldShape& world : timed_worlds(cells)) {
    if (!done.insert(path_of(world)).second) continue;
    for (PlanCell& roof : roofs_of(world, cells, options, hosts)) roofs.push_back(std::move(roof));
  }
  return roofs;
}

struct Expanded {
  std::vector<PlanCell> cells;
  size_t crowded = 0;
};

// An order of a ring that stands alone was meant, as for `coll`. Of hosts that say their addresses
// only when they are reached this is not known yet.
Status lone_order_connects(const MatrixBlock& block, const Cell& cell,
                           const std::vector<ScenarioHost>& hosts) {
  const auto sets = host_sets(block.hosts, hosts);
  const bool alone =
      block.algorithm.size() == 1 && block.distribution.size() == 1 && sets && sets->size() == 1;
  if (!alone) return {};
  const WorldShape world = world_of(cell);
  const Status connects = order_connects(cell, apart_ranks(hosts, place_ranks(hosts, world)));
  if (connects) return {};
  return fail(ErrorCode::kConfig,
              fmt::format("{}.algorithm: {}; {}", block.path, apart_reason(hosts, world),
                          connects.error().what),
              connects.error().hint);
}

Expected<Expanded> expand(const Scenario& scenario, const Vocabulary& vocabulary, int cores) {
  Expanded out;
  std::vector<PlanCell>& cells = out.cells;
  std::set<std::string> seen;
  const bool free_places = all_local(scenario.hosts);
  for (const MatrixBlock& block : scenario.matrix) {
    if (vocabulary.algorithms.empty() && contains(block.algorithm, "all")) {
      return fail(ErrorCode::kConfig,
                  block.path + ".algorithm: \"all\" without a table of algorithms");
    }
    // The hosts may be others than those the scenario was checked with (--hosts).
    if (const auto sets = host_sets(block.hosts, scenario.hosts); !sets) {
      Error error = sets.error();
      error.what = block.path + ".hosts: " + error.what;
      return fail(std::move(error));
    }
    for (PlanCell& cell : expand_block(block, {&scenario.hosts, &vocabulary})) {
      const int room = places_in(scenario.hosts, cell.cell.hosts);
      if (cell.cell.ranks > room && !free_places) {
        return fail(ErrorCode::kConfig,
                    fmt::format("{}.ranks: {} ranks, but the hosts have places for {}", block.path,
                                cell.cell.ranks, room),
                    "raise launch.ranks_per_host or name more hosts");
      }
      if (!seen.insert(cell.id).second) continue;
      if (!cell.skip.empty()) {
        const Status connects = lone_order_connects(block, cell.cell, scenario.hosts);
        if (!connects) return fail(connects.error());
      }
      if (!block.oversubscribe && free_places && cores > 0 &&
          cell.cell.ranks > std::max(cores, kLeastRanks)) {
        ++out.crowded;
        continue;
      }
      cells.push_back(std::move(cell));
      if (cells.size() > kMaxPlanCells) {
        return fail(ErrorCode::kConfig,
                    fmt::format("{}: the matrix has more than {} cells", block.path, kMaxPlanCells),
                    "shorten its lists");
      }
    }
  }
  return out;
}

Expected<std::vector<FilterTerm>> parse_terms(const std::vector<std::string>& texts,
                                              const std::vector<Cell>& cells) {
  std::vector<FilterTerm> terms;
  for (const std::string& text : texts) {
    auto term = FilterTerm::parse(text, cells);
    if (!term) return fail(std::move(term.error()));
    terms.push_back(std::move(*term));
  }
  return terms;
}

bool all_hold(const std::vector<FilterTerm>& terms, const Cell& cell) {
  return std::all_of(terms.begin(), terms.end(),
                     [&cell](const FilterTerm& term) { return term.holds(cell); });
}

// The cells that the filter wants, and the roofs of their worlds. Where it names nothing but roofs
// (--only kind=roof), those.
Expected<std::vector<PlanCell>> select(std::vector<PlanCell> cells, bool with_roofs,
                                       const PlanFilter& filter, const OptionSet& options,
                                       const std::vector<ScenarioHost>& hosts) {
  const std::vector<PlanCell> all_roofs =
      with_roofs ? roofs_for(cells, options, hosts) : std::vector<PlanCell>{};
  std::vector<Cell> known;
  known.reserve(cells.size() + all_roofs.size());
  for (const PlanCell& cell : cells) known.push_back(cell.cell);
  for (const PlanCell& roof : all_roofs) known.push_back(roof.cell);
  const auto only = parse_terms(filter.only, known), skip = parse_terms(filter.skip, known);
  if (!only) return fail(only.error());
  if (!skip) return fail(skip.error());
  const auto not_meant = [&only](const PlanCell& cell) { return !all_hold(*only, cell.cell); };
  const auto skipped = [&skip](const PlanCell& cell) {
    return std::any_of(skip->begin(), skip->end(),
                       [&](const FilterTerm& term) { return term.holds(cell.cell); });
  };

  std::erase_if(cells, [&](const PlanCell& cell) { return not_meant(cell) || skipped(cell); });
  std::vector<PlanCell> roofs = all_roofs;
  if (cells.empty()) {
    std::erase_if(roofs, not_meant);
  } else if (with_roofs) {
    roofs = roofs_for(cells, options, hosts);
  }
  std::erase_if(roofs, skipped);
  for (PlanCell& roof : roofs) cells.push_back(std::move(roof));
  if (cells.empty() && !known.empty()) {
    return fail(ErrorCode::kUsage, fmt::format("the filter leaves none of {} cells", known.size()),
                "`plumbline plan FILE` lists the cells");
  }
  return cells;
}

// Groups of one world, small worlds first; in each the roofs, then the rest in shuffled order.
void order_cells(std::vector<PlanCell>& cells, uint64_t seed) {
  std::map<WorldShape, std::vector<PlanCell>> roofs, others;
  for (PlanCell& cell : cells) {
    (is_roof(cell) ? roofs : others)[world_of(cell.cell)].push_back(std::move(cell));
  }
  std::set<WorldShape> worlds;
  for (const auto& [world, group] : roofs) worlds.insert(world);
  for (const auto& [world, group] : others) worlds.insert(world);
  cells.clear();
  SplitMix64 random(seed);
  for (const WorldShape& world : worlds) {
    for (PlanCell& cell : roofs[world]) cells.push_back(std::move(cell));
    std::vector<PlanCell>& group = others[world];
    shuffle(group, random);
    for (PlanCell& cell : group) cells.push_back(std::move(cell));
  }
}

std::string stop_text(const PlanCell& cell) {
  const CellKindRow& kind = row(cell.cell.kind);
  if (kind.timing == CellTiming::kNothing) return "";
  if (kind.has("time")) return fmt::format("time {}", cell.throughput_time_ns);
  return fmt::format("stop {} {} {} {}", cell.stop.ci, cell.stop.min_n, cell.stop.max_n,
                     cell.stop.max_time_ns);
}

std::string plan_hash(const std::vector<PlanCell>& cells, const OptionSet& options) {
  std::set<std::string> lines;  // sorted: the order of measuring does not count
  for (const PlanCell& cell : cells) {
    lines.insert(canonical_json(cell.cell) + " " + stop_text(cell));
  }
  for (const auto& [name, value] : options.values()) {
    if (!contains(kUnmeasuredOptions, name)) {
      lines.insert(fmt::format("{}={}", name, value.value));
    }
  }
  std::string text = "plumbline plan 1\n";
  for (const std::string& line : lines) text += line + "\n";
  return to_hex(sha256(text));
}

Expected<OptionSet> options_of(const Scenario& scenario, const PlanContext& context) {
  if (context.options != nullptr) return *context.options;
  OptionSources sources;
  sources.scenario = scenario.config;
  sources.choices = option_choices(context.vocabulary);
  auto set = OptionSet::resolve(sources);
  if (!set) return fail(std::move(set.error().front()));
  return std::move(*set);
}

}  // namespace

std::set<std::string> matching_cells(const Plan& plan, const std::vector<std::string>& texts) {
  std::vector<Cell> known;
  for (const PlanCell& cell : plan.cells) known.push_back(cell.cell);
  const auto terms = parse_terms(texts, known);
  std::set<std::string> ids;
  if (!terms || terms->empty()) return ids;  // a word that no cell of this plan has
  for (const PlanCell& cell : plan.cells) {
    if (!is_roof(cell) && all_hold(*terms, cell.cell)) ids.insert(cell.id);
  }
  return ids;
}

Expected<Plan> make_plan(const Scenario& scenario, const PlanFilter& filter, uint64_t seed,
                         const PlanContext& context) {
  const auto options = options_of(scenario, context);
  if (!options) return fail(options.error());
  auto expanded = expand(scenario, context.vocabulary, context.cores);
  if (!expanded) return fail(std::move(expanded.error()));
  auto cells = select(std::move(expanded->cells), scenario.roofs, filter, *options, scenario.hosts);
  if (!cells) return fail(std::move(cells.error()));
  order_cells(*cells, seed);

  Plan plan;
  plan.seed = seed;
  plan.crowded = expanded->crowded;
  plan.hash = plan_hash(*cells, *options);
  plan.cells = std::move(*cells);
  std::set<WorldShape> worlds;
  for (PlanCell& cell : plan.cells) {
    cell.estimated_s = estimate_cell_s(cell);
    plan.estimated_s += cell.estimated_s;
    if (cell.skip.empty() && worlds.insert(world_of(cell.cell)).second) {
      plan.estimated_s += estimate_start_s(cell.cell.ranks);
    }
  }
  return plan;
}

}  // namespace plumbline
