// Reading the two sides of a comparison: which record belongs to which launch, and which number of
// it is compared.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "reports/compare/compare.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

bool usable(const Record& record) {
  const Measurement& m = record.measurement;
  return m.outcome == Outcome::kPassed && m.wrong.value_or(0) == 0 &&
         record.noise.verdict != "invalid";
}

bool compared(const Record& record) {
  return record.measurement.outcome != Outcome::kSkipped &&
         !(record.soak && record.soak->idle_ns > 0);
}

struct Number {
  std::string part;
  CompareUnit unit;
  double value;
};

void add_link(const LinkResult& link, std::vector<Number>& out) {
  const std::string pair = fmt::format("rank {} > {}", link.from, link.to);
  if (link.rtt && link.rtt->p50 && *link.rtt->p50 > 0) {
    out.push_back({pair + " round trip", CompareUnit::kTime, *link.rtt->p50});
  }
  if (link.loaded_rtt && link.loaded_rtt->p50 && *link.loaded_rtt->p50 > 0) {
    out.push_back({pair + " round trip under load", CompareUnit::kTime, *link.loaded_rtt->p50});
  }
  if (link.rate_Bps && *link.rate_Bps > 0) {
    out.push_back({pair + " rate", CompareUnit::kBytes, 1e9 / *link.rate_Bps});
  }
}

// What of this record is compared; nothing for a check, of which only the outcome counts.
std::vector<Number> numbers_of(const Record& record) {
  std::vector<Number> out;
  const Measurement& m = record.measurement;
  for (const LinkResult& link : m.links) {
    if (link.measured()) add_link(link, out);
  }
  if (!row(record.cell.kind).has_times()) return out;
  if (m.ops_per_s) {
    if (*m.ops_per_s > 0) out.push_back({"", CompareUnit::kOperations, 1e9 / *m.ops_per_s});
  } else if (record.time_ns.p50 && *record.time_ns.p50 > 0) {
    out.push_back({"", CompareUnit::kTime, *record.time_ns.p50});
  } else if (m.reported && m.reported->time_ns.value_or(0) > 0) {  // of another tool
    out.push_back({"", CompareUnit::kTime, *m.reported->time_ns});
  } else if (m.reported && m.reported->algbw_Bps.value_or(0) > 0) {
    out.push_back({"", CompareUnit::kBytes, 1e9 / *m.reported->algbw_Bps});
  }
  return out;
}

// The cell without what may differ, repetitions within a launch included.
std::string key_of(const Cell& cell, const std::set<std::string>& ignore) {
  nlohmann::json object = cell;
  object.erase("repeat");
  for (const std::string& field : ignore) object.erase(field);
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The cell as it is shown: what may differ is "any", or as if it had not been asked for.
Cell shown_cell(const Cell& cell, const std::set<std::string>& ignore) {
  nlohmann::json object = cell;
  const nlohmann::json plain = Cell{};
  for (const std::string& field : ignore) {
    if (field == "kind") continue;  // that of the first one
    if (!plain.contains(field)) {
      object.erase(field);
    } else if (plain.at(field).is_string()) {
      object[field] = "any";
    } else {
      object[field] = plain.at(field);
    }
  }
  Cell out = object.get<Cell>();
  out.repeat = 0;
  return out;
}

// What explains a difference, as far as records know it.
void note_facts(const Record& record, std::map<std::string, std::set<std::string>>& facts) {
  facts["plumbline"].insert(record.suite_version);
  for (const auto& [name, option] : record.environment.options) {
    facts["option " + name].insert(option.value);
  }
  for (const HostFacts& host : record.environment.hosts) {
    facts["kernel"].insert(host.kernel);
    facts["CPU"].insert(host.cpu_model);
    facts["CPU governor"].insert(host.governor.value_or("unknown"));
  }
}

}  // namespace

CompareCollector::Entry& CompareCollector::entry_of(size_t side, const Record& record) {
  const auto [found, is_new] =
      index_.try_emplace(key_of(record.cell, rule_.ignore), entries_.size());
  if (is_new) {
    Record once;
    once.cell = shown_cell(record.cell, rule_.ignore);
    once.measurement.resolved = record.measurement.resolved;
    entries_.push_back({describe(once), once.cell, {}, {}});
  }
  Entry& entry = entries_[found->second];
  if (entry.ids[side].empty()) entry.ids[side] = cell_id(record.cell);
  return entry;
}

CompareCollector::Part& CompareCollector::part_of(Entry& entry, const std::string& name,
                                                  CompareUnit unit) {
  for (Part& part : entry.parts) {
    if (part.name == name) return part;
  }
  entry.parts.emplace_back();
  entry.parts.back().name = name;
  entry.parts.back().unit = unit;
  return entry.parts.back();
}

size_t CompareCollector::launch_of(size_t side_index, const Record& record) {
  Side& side = sides_[side_index];
  const LaunchMark mark = record.launch.value_or(LaunchMark{});
  const std::string key = fmt::format("{} {} {}", record.run_id, mark.series, mark.number);
  const size_t launch = launches_.try_emplace(key, launches_.size()).first->second;
  if (side.launches.insert(launch).second) note_facts(record, side.facts);
  if (side.first.empty() || record.time < side.first) side.first = record.time;
  side.last = std::max(side.last, record.time);
  return launch;
}

void CompareCollector::take(size_t side_index, const Record& record) {
  if (!compared(record)) return;
  Side& side = sides_[side_index];
  ++side.records;
  const std::string& took = record.measurement.resolved.transport;
  if (record.cell.transport == "auto" && !took.empty()) {
    side.facts["transport that auto took"].insert(took);
  }
  const size_t launch = launch_of(side_index, record);
  const int64_t series = record.launch ? record.launch->series : 1;
  Entry& entry = entry_of(side_index, record);
  const std::vector<Number> numbers = usable(record) ? numbers_of(record) : std::vector<Number>{};
  // A cell without a number of its own (a check, one that failed) still has an outcome.
  if (numbers.empty()) {
    if (record.cell.kind == CellKind::kLink && usable(record)) return;
    Part& part = part_of(entry, "", CompareUnit::kTime);
    Part::Tally& tally = part.tallies[side_index][series];
    ++tally.records;
    if (usable(record)) return;
    ++tally.unusable;
    tally.wrong += record.measurement.wrong.value_or(0) > 0 ? 1 : 0;
    if (tally.reason.empty()) {
      tally.reason = record.measurement.reason.empty() ? join(record.noise.causes, ", ")
                                                       : record.measurement.reason;
    }
    return;
  }
  for (const Number& number : numbers) {
    Part& part = part_of(entry, number.part, number.unit);
    Part::Tally& tally = part.tallies[side_index][series];
    ++tally.records;
    tally.noisy += record.noise.verdict == "noisy" ? 1 : 0;
    part.values[side_index][{series, launch}].push_back(number.value);
  }
}

}  // namespace plumbline
