#include "runs/hosts/memory_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/cell_run.h"
#include "core/units.h"
#include "scenarios/placement.h"

namespace plumbline {
namespace {

constexpr const char* kHint =
    "take smaller sizes (coll: -e; run: \"bytes\", or --skip 'bytes>1Gi') or fewer ranks a host "
    "(--ranks, \"ranks\"), or free memory there";

// Ranks that take from the same memory. What one host may still take can be less than its machine
// has (control groups), and several hosts can be one machine (namespaces): both must hold.
struct Pool {
  std::string where;
  uint64_t ranks = 0, available = 0;
};

std::vector<Pool> pools_of(const MemoryPlace& place) {
  std::map<std::string, Pool> by_host, by_machine;
  for (const size_t index : place.placement) {
    const std::string& name = (*place.hosts)[index].name;
    const auto known = place.facts->find(name);
    if (known == place.facts->end() || known->second.memory_available_bytes == 0) continue;
    const HostFacts& facts = known->second;
    Pool& host = by_host[name];
    host = {name, host.ranks + 1, facts.memory_available_bytes};
    if (facts.boot_id.empty()) continue;
    Pool& machine = by_machine[facts.boot_id];
    if (machine.ranks == 0) machine.where = "the machine of " + name;
    machine.available = std::max(machine.available, facts.memory_available_bytes);
    ++machine.ranks;
  }
  std::vector<Pool> pools;
  for (const auto& [name, pool] : by_host) pools.push_back(pool);
  for (const auto& [boot, pool] : by_machine) pools.push_back(pool);
  return pools;
}

std::string cell_text(const Cell& cell) {
  std::string text = fmt::format("{} {} {} of {}", to_string(cell.kind), cell.op, cell.dtype,
                                 format_bytes(cell.bytes));
  if (cell.arrays > 1) text += fmt::format(" ({} arrays together)", cell.arrays);
  if (cell.placement == "in") text += " in place";
  if (cell.outstanding > 1) text += fmt::format(", {} outstanding", cell.outstanding);
  text += fmt::format(", {} ranks", cell.ranks);
  return cell.split.empty() ? text : text + " in groups " + cell.split;
}

Expected<OptionSet> options_of(const Cell& cell, const OptionSet& options) {
  OptionSet own = options;
  for (const auto& [name, value] : cell.params) {
    Expected<OptionSet> with = own.with(name, value, "cell");
    if (!with) return with;
    own = std::move(*with);
  }
  return own;
}

}  // namespace

Status fits_memory(const PlanCell& planned, const OptionSet& options, const MemoryPlace& place) {
  const Cell& cell = planned.cell;
  const bool verified = !planned.fixed || planned.fixed->verified;
  const Expected<OptionSet> own = options_of(cell, options);
  if (!own) return fail(own.error());
  Cell relayed = cell;
  const RankPairs apart = apart_ranks(*place.hosts, place.placement);
  if (row(cell.kind).timing != CellTiming::kPairs) {
    const bool own_cables = have_own_cables(*place.hosts, place.placement);
    relayed.algorithm =
        algorithm_between(cell, options, apart, own_cables).value_or(cell.algorithm);
  }
  const Expected<uint64_t> need = cell_run_of(cell.kind).memory(relayed, verified, *own);
  if (!need) return {};  // such a cell says itself why it cannot be measured
  for (const Pool& pool : pools_of(place)) {
    if (*need <= pool.available / pool.ranks) continue;
    return fail(
        ErrorCode::kUsage,
        fmt::format("{} does not fit into memory: a rank needs {}, {} of them {} on {}, "
                    "and {} are available there",
                    cell_text(cell), format_bytes(*need), pool.ranks,
                    pool.ranks == 1 ? "is" : "are", pool.where, format_bytes(pool.available)),
        kHint);
  }
  return {};
}

HostMemory memory_here(const std::vector<ScenarioHost>& hosts) {
  HostMemory facts;
  for (const ScenarioHost& host : hosts) {
    if (!host.local && host.netns.empty()) continue;
    if (facts.empty()) {
      facts.emplace(host.name, read_host_facts());
    } else {
      facts.emplace(host.name, facts.begin()->second);
    }
  }
  return facts;
}

std::vector<const PlanCell*> largest_cells(const Plan& plan) {
  std::map<std::string, uint64_t> most;  // by type, to whose size bytes are rounded
  for (const PlanCell& planned : plan.cells) {
    uint64_t& bytes = most[planned.cell.dtype];
    bytes = std::max(bytes, planned.cell.bytes);
  }
  std::vector<const PlanCell*> largest;
  for (const PlanCell& planned : plan.cells) {
    if (planned.cell.bytes == most[planned.cell.dtype]) largest.push_back(&planned);
  }
  return largest;
}

namespace {

// The smallest first: the smallest that does not fit says most.
std::vector<const PlanCell*> measured_cells(const Plan& plan) {
  std::vector<const PlanCell*> cells;
  for (const PlanCell& planned : plan.cells) {
    if (planned.skip.empty()) cells.push_back(&planned);
  }
  std::stable_sort(cells.begin(), cells.end(), [](const PlanCell* a, const PlanCell* b) {
    return a->cell.bytes < b->cell.bytes;
  });
  return cells;
}

}  // namespace

Status fits_memory(const Plan& plan, const OptionSet& options,
                   const std::vector<ScenarioHost>& hosts, const HostMemory& facts) {
  if (facts.empty()) return {};
  Status first;
  size_t more = 0;
  for (const PlanCell* planned : plan.listed ? largest_cells(plan) : measured_cells(plan)) {
    const MemoryPlace place{&hosts, place_ranks(hosts, world_of(planned->cell)), &facts};
    Status fits = fits_memory(*planned, options, place);
    if (fits) continue;
    if (plan.listed) return fits;
    if (!first) {
      ++more;
    } else {
      first = std::move(fits);
    }
  }
  if (first || more == 0) return first;
  Error error = first.error();
  error.what += fmt::format("; the same holds for {} more cell{}", more, more == 1 ? "" : "s");
  return fail(error);
}

}  // namespace plumbline
