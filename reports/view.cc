#include "reports/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "core/op.h"
#include "core/units.h"
#include "reports/text.h"

namespace plumbline {
namespace {

size_t op_order(const std::string& op) {
  const std::optional<Op> known = op_from(op);
  return known ? static_cast<size_t>(*known) : op_table().size();
}

// Which launch of its run measured it; the same for all records of a run without --repeat.
std::string launch_key(const Record& record) {
  if (!record.launch) return record.run_id;
  const LaunchMark& mark = *record.launch;
  return fmt::format("{} {} {} {}", record.run_id, mark.side, mark.series, mark.number);
}

std::optional<double> positive(std::optional<double> value) {
  return value && *value > 0 ? value : std::nullopt;
}

// All launches of one cell of a run.
class LaunchSet {
 public:
  void add(Item item) {
    const Measurement& m = item.record->measurement;
    if (item.valid() && item.time.p50) {
      hist_.merge(m.hist);
      medians_.push_back(*item.time.p50);
    }
    if (m.ops_per_s && item.valid()) ops_per_s_.push_back(*m.ops_per_s);
    if (count_++ == 0 || item.verdict >= worst_.verdict) worst_ = std::move(item);
  }

  Item merged() const {
    Item item = worst_;
    if (count_ == 1) return item;
    item.launches = count_;
    Measurement rate;  // the bandwidths follow from it where there is one, else from the time
    if (!ops_per_s_.empty()) rate.ops_per_s = median(ops_per_s_);
    if (!medians_.empty()) {
      item.time = summarize(hist_);
      set_median(medians_, item.time);
      item.typical_ns = item.time.p50;
    }
    const Rates rates = rates_of(item.record->cell, rate, item.time);
    item.algbw_Bps = positive(rates.algbw_Bps);
    item.busbw_Bps = positive(rates.busbw_Bps);
    return item;
  }

 private:
  Histogram hist_;
  std::vector<double> medians_, ops_per_s_;
  Item worst_;
  size_t count_ = 0;
};

// One item a record, but one for all launches of a cell.
std::vector<Item> make_items(const std::vector<Record>& records, const std::vector<size_t>& kept) {
  std::vector<LaunchSet> sets;
  std::unordered_map<std::string, size_t> set_of;
  for (const size_t i : kept) {
    const Record& record = records[i];
    size_t at = sets.size();
    if (record.launch) {
      at = set_of.try_emplace(record.run_id + record.launch->side + canonical_json(record.cell), at)
               .first->second;
    }
    if (at == sets.size()) sets.emplace_back();
    sets[at].add(make_item(record));
  }
  std::vector<Item> items;
  items.reserve(sets.size());
  for (const LaunchSet& set : sets) items.push_back(set.merged());
  return items;
}

// Indices of the records that count: the last of each (run, cell), and no failed attempt of a cell
// that a later attempt (of whatever run) measured.
std::vector<size_t> current_records(const std::vector<Record>& records) {
  std::unordered_map<std::string, std::unordered_set<std::string>> later_runs;  // by cell
  CellIds ids;
  std::vector<size_t> kept;
  for (size_t i = records.size(); i-- > 0;) {
    const Record& record = records[i];
    std::unordered_set<std::string>& runs = later_runs[ids.of(record.cell)];
    const std::string launch = launch_key(record);
    const bool same_run = runs.contains(launch);
    const bool retried = record.measurement.outcome == Outcome::kError && !runs.empty();
    // What was merged is of several runs and has been looked through already.
    if (record.launches > 1 || (!same_run && !retried)) kept.push_back(i);
    runs.insert(launch);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

auto group_key(const Cell& cell, const std::string& transport) {
  return std::tuple(cell.kind, op_order(cell.op), cell.op, cell.ranks, transport, cell.engine,
                    cell.algorithm, cell.hosts, cell.distribution);
}

auto row_key(const Cell& cell) {
  return std::tuple(cell.dtype, cell.redop, cell.root, cell.sync, cell.params, cell.bytes,
                    cell.outstanding, cell.arrays, other_words(cell), cell.repeat);
}

// Puts an item beside its other placement when that row still has room.
void place(const Item& item, std::unordered_map<std::string, size_t>& row_of, ViewGroup& group) {
  Cell cell = item.record->cell;
  const bool in_place = cell.placement == "in";
  cell.placement.clear();
  const auto [found, is_new] = row_of.try_emplace(canonical_json(cell), group.rows.size());
  const auto taken = [&](const Pair& pair) { return (in_place ? pair.in : pair.out) != nullptr; };
  if (is_new || taken(group.rows[found->second])) {
    found->second = group.rows.size();
    group.rows.emplace_back();
  }
  (in_place ? group.rows[found->second].in : group.rows[found->second].out) = &item;
}

std::vector<ViewGroup> make_groups(const std::vector<Item>& items) {
  using Key = decltype(group_key(Cell{}, std::string{}));
  struct Building {
    ViewGroup group;
    std::unordered_map<std::string, size_t> row_of;
  };
  std::map<Key, Building> building;
  for (const Item& item : items) {
    const Cell& cell = item.record->cell;
    if (cell.kind == CellKind::kRoof) continue;
    const std::string& transport = transport_of(*item.record);
    auto [found, is_new] = building.try_emplace(group_key(cell, transport));
    if (is_new) {
      found->second.group = {cell.kind,         cell.op,    cell.engine,
                             cell.algorithm,    transport,  cell.hosts,
                             cell.distribution, cell.ranks, {}};
    }
    place(item, found->second.row_of, found->second.group);
  }
  std::vector<ViewGroup> groups;
  for (auto& [key, value] : building) {
    std::stable_sort(value.group.rows.begin(), value.group.rows.end(),
                     [](const Pair& a, const Pair& b) {
                       return row_key(a.any().record->cell) < row_key(b.any().record->cell);
                     });
    groups.push_back(std::move(value.group));
  }
  return groups;
}

}  // namespace

void Counts::add(const Item& item) {
  constexpr size_t Counts::*kOutcomes[] = {&Counts::passed, &Counts::failed, &Counts::skipped,
                                           &Counts::errors};
  this->*kOutcomes[static_cast<size_t>(item.record->measurement.outcome)] += item.launches;
  noisy += item.verdict == Verdict::kNoisy ? item.launches : 0;
  invalid += item.verdict == Verdict::kInvalid ? item.launches : 0;
  wrong += item.record->measurement.wrong.value_or(0);
}

Tally tally_of(const Counts& counts) {
  Tally tally;
  tally.add(Outcome::kPassed, counts.passed);
  tally.add(Outcome::kFailed, counts.failed);
  tally.add(Outcome::kError, counts.errors);
  tally.add(Outcome::kSkipped, counts.skipped);
  return tally;
}

std::string cells_text(const Counts& counts) {
  std::string text = tally_of(counts).text("cell");
  if (counts.noisy > 0) text += fmt::format("; {} noisy", counts.noisy);
  if (counts.invalid > 0) text += fmt::format("; {} INVALID", counts.invalid);
  if (counts.wrong > 0) text += fmt::format("; {} wrong elements", counts.wrong);
  return text;
}

Verdict verdict_of(const Record& record) {
  const Measurement& m = record.measurement;
  if (m.outcome == Outcome::kError) return Verdict::kError;
  if (m.outcome == Outcome::kSkipped) return Verdict::kSkipped;
  if (m.wrong.value_or(0) > 0) return Verdict::kInvalid;
  if (m.outcome == Outcome::kFailed) return Verdict::kFailed;
  if (record.noise.verdict == "invalid") return Verdict::kInvalid;
  return record.noise.verdict == "noisy" ? Verdict::kNoisy : Verdict::kClean;
}

const char* to_string(Verdict verdict) {
  constexpr const char* kWords[] = {"clean", "noisy", "skipped", "FAILED", "INVALID", "ERROR"};
  return kWords[static_cast<size_t>(verdict)];
}

std::string verdict_word(const Item& item) {
  return item.imported() && item.verdict == Verdict::kClean ? "imported" : to_string(item.verdict);
}

std::string statistic_of(const Item& item, Quantity quantity) {
  const std::optional<Reported>& told = item.record->measurement.reported;
  const bool printed = told && quantity == Quantity::kRate && (told->algbw_Bps || told->busbw_Bps);
  const std::string& name = printed ? told->statistic : item.statistic;
  return !told || name == "p50" ? "median" : clean(name);
}

std::string source_of(const Item& item, Quantity quantity) {
  const std::optional<Reported>& told = item.record->measurement.reported;
  const std::string name = clean(told ? told->tool : item.record->cell.engine);
  const std::string statistic = statistic_of(item, quantity);
  return statistic.empty() ? name : name + " (" + statistic + ")";
}

Verdict Pair::verdict() const {
  if (!out || !in) return any().verdict;
  return std::max(out->verdict, in->verdict);
}

Item make_item(const Record& record) {
  Item item;
  item.record = &record;
  item.launches = record.launches;
  item.verdict = verdict_of(record);
  item.time = record.launches > 1 ? record.time_ns : time_of(record.measurement);
  const Rates rates = rates_of(record.cell, record.measurement, item.time);
  item.algbw_Bps = positive(rates.algbw_Bps);
  item.busbw_Bps = positive(rates.busbw_Bps);
  item.typical_ns = positive(item.time.p50);
  item.statistic = item.typical_ns ? "p50" : "";
  const std::optional<Reported>& told = record.measurement.reported;
  if (told && !item.typical_ns) {
    item.typical_ns = positive(told->time_ns);
    item.statistic = told->statistic;
  }
  return item;
}

void attain(const View& view, Item& item) {
  if (!item.valid()) return;
  const auto& extra = item.record->measurement.extra;
  if (const auto told = extra.find("of_roof"); item.imported() && told != extra.end()) {
    item.of_bandwidth = told->second;
    return;
  }
  const Headline headline = row(item.record->cell.kind).headline;
  const bool latency = headline == Headline::kTime;
  if (!latency && headline != Headline::kBusBandwidth) return;
  const std::optional<RoofShare> of =
      latency ? latency_share(view, item) : bandwidth_share(view, item);
  if (!of) return;
  (latency ? item.of_latency : item.of_bandwidth) = of->share;
  item.no_roof = of->no_roof;
}

View make_view(const std::vector<Record>& records) {
  View view;
  const std::vector<size_t> kept = current_records(records);
  view.superseded = records.size() - kept.size();
  view.items = make_items(records, kept);  // pointers into it must stay good
  for (const Item& item : view.items) {
    view.counts.add(item);
    if (item.record->cell.kind == CellKind::kRoof) view.roofs.push_back(&item);
  }
  for (Item& item : view.items) {
    attain(view, item);
    foresee(view, item);
  }
  view.groups = make_groups(view.items);
  return view;
}

std::string title_of(const ViewGroup& group) {
  std::string title = group.op;
  const bool imported = group.imported();
  if (!imported || group.algorithm != "auto") title += " " + group.algorithm;
  title += fmt::format(", {} rank{}", group.ranks, group.ranks == 1 ? "" : "s");
  title += ", " + group.transport;
  if (!group.hosts.empty()) title += ", on " + group.hosts;
  if (!group.distribution.empty()) title += ", " + group.distribution;
  if (group.engine != kNativeEngine) {
    title += (imported ? ", imported from " : ", engine ") + group.engine;
  }
  return title;
}

std::string describe(const Record& record) {
  const Cell& cell = record.cell;
  std::string text = cell.op;
  if (cell.kind == CellKind::kRoof)
    return fmt::format("roof {}, {}", text, format_bytes(cell.bytes));
  if (cell.kind == CellKind::kLink) {
    return fmt::format("link {}, {} ranks, {}{}{}", cell.measure, cell.ranks, transport_of(record),
                       cell.hosts.empty() ? "" : ", on ", cell.hosts);
  }
  text += " " + cell.algorithm;
  if (cell.algorithm == "auto" && !record.measurement.resolved.algorithm.empty()) {
    text += kChosen + record.measurement.resolved.algorithm;
  }
  text += fmt::format(", {} rank{}, {}, {} {}", cell.ranks, cell.ranks == 1 ? "" : "s",
                      transport_of(record), format_bytes(cell.bytes), cell.dtype);
  if (cell.redop != "none") text += " " + cell.redop;
  if (cell.root >= 0) text += fmt::format(", root {}", cell.root);
  text += cell.placement == "in" ? ", in place" : ", out of place";
  const bool imported = record.measurement.reported.has_value();  // its owner is told elsewhere
  if (cell.engine != kNativeEngine && !imported) text += ", engine " + cell.engine;
  if (!cell.hosts.empty()) text += ", on " + cell.hosts;
  if (!cell.distribution.empty()) text += ", " + cell.distribution;
  if (cell.outstanding != 1) text += fmt::format(", {} outstanding", cell.outstanding);
  if (cell.repeat > 0) text += fmt::format(", repetition {}", cell.repeat);
  for (const std::string& word : other_words(cell)) text += ", " + word;
  for (const auto& [name, value] : cell.params) text += ", " + name + "=" + value;
  return text;
}

WorldKey world_key(const Record& record) {
  const Cell& cell = record.cell;
  return {cell.ranks, transport_of(record), cell.hosts, cell.distribution};
}

std::string world_title(const Record& record) {
  const Cell& cell = record.cell;
  std::string title = fmt::format("{} ranks, {}", cell.ranks, clean(transport_of(record)));
  if (!cell.hosts.empty()) title += ", on " + clean(cell.hosts);
  if (!cell.distribution.empty()) title += ", " + clean(cell.distribution);
  return title;
}

const std::string& transport_of(const Record& record) {
  const std::string& resolved = record.measurement.resolved.transport;
  return resolved.empty() ? record.cell.transport : resolved;
}

}  // namespace plumbline
