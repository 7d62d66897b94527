#include "reports/soak/soak_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/view.h"

namespace plumbline {
namespace {

constexpr double kHourNs = 3600e9;

double hours_of(const Record& record) { return static_cast<double>(record.soak->at_ns) / kHourNs; }

std::string soaked_name(const Record& record) {
  const Cell& cell = record.cell;
  const CellKindRow& kind = row(cell.kind);
  return kind.collective ? fmt::format("{} {}", kind.name, describe(record)) : describe(record);
}

std::optional<double> extra(const Record& record, const std::string& key) {
  const auto found = record.measurement.extra.find(key);
  if (found == record.measurement.extra.end()) return std::nullopt;
  return found->second;
}

bool is_measured(const Record& record) {
  return record.measurement.outcome == Outcome::kPassed ||
         record.measurement.outcome == Outcome::kFailed;
}

}  // namespace

SoakRun& SoakCollector::run_of(const Record& record) {
  const auto [found, is_new] = run_index_.try_emplace(record.run_id, runs_.size());
  if (is_new) {
    runs_.emplace_back();
    runs_.back().run_id = record.run_id;
    runs_.back().scenario = record.scenario;
  }
  return runs_[found->second];
}

SoakTrack& SoakCollector::track(SoakRun& run, const std::string& key, const std::string& what,
                                SoakUnit unit) {
  const auto [found, is_new] =
      index_.try_emplace("track " + run.run_id + " " + key, run.tracks.size());
  if (is_new) run.tracks.push_back({what, unit, {}});
  return run.tracks[found->second];
}

void SoakCollector::take_links(SoakRun& run, const Record& record) {
  const double hours = hours_of(record);
  const int64_t round = record.soak->round;
  for (const LinkResult& link : record.measurement.links) {
    if (!link.measured()) continue;
    const std::string pair = fmt::format("{} > {}", link.from_host, link.to_host);
    const std::string key = fmt::format("{} {} {} ", cell_id(record), link.from, link.to);
    const auto add = [&](const char* part, SoakUnit unit, double value) {
      track(run, key + part, fmt::format("{}, {} {}", soaked_name(record), pair, part), unit)
          .series.add(hours, round, value);
    };
    if (link.rtt && link.rtt->p50) add("round trip", SoakUnit::kTime, *link.rtt->p50);
    if (link.loaded_rtt && link.loaded_rtt->p50) {
      add("loaded round trip", SoakUnit::kTime, *link.loaded_rtt->p50);
    }
    if (link.rate_Bps) add("rate", SoakUnit::kRate, *link.rate_Bps);
    if (link.udp && link.udp->sent > 0) {
      add("loss", SoakUnit::kShare, link.udp->share(link.udp->lost()));
    }
  }
}

void SoakCollector::take_cold(SoakRun& run, const Record& record) {
  const std::string key =
      fmt::format("cold {} {} {}", run.run_id, cell_id(record), record.soak->idle_ns);
  const auto [found, is_new] = index_.try_emplace(key, run.colds.size());
  if (is_new) {
    run.colds.emplace_back();
    run.colds.back().what = soaked_name(record);
    run.colds.back().idle_ns = record.soak->idle_ns;
  }
  SoakCold& cold = run.colds[found->second];
  if (!is_measured(record)) {
    ++cold.errors;
    return;
  }
  const auto add = [&](BoundedSeries& series, const std::optional<double>& value) {
    if (value) series.add(hours_of(record), record.soak->round, *value);
  };
  add(cold.meeting, extra(record, kColdMeeting));
  add(cold.warm_meeting, extra(record, kWarmMeeting));
  add(cold.first, extra(record, cold_op_key(1)));
  add(cold.second, extra(record, cold_op_key(2)));
  add(cold.warm, record.time_ns.p50);
}

void SoakCollector::take_memory(SoakRun& run, const Record& record) {
  const auto add = [&](const std::string& process, const std::optional<uint64_t>& bytes) {
    if (!bytes) return;
    const auto [found, is_new] =
        index_.try_emplace("memory " + run.run_id + " " + process, run.memories.size());
    if (is_new) run.memories.push_back({process, {}});
    run.memories[found->second].series.add(hours_of(record), record.soak->round,
                                           static_cast<double>(*bytes));
  };
  add("coordinator", record.soak->memory_bytes);
  // Worlds of other sizes are other processes.
  for (const PerRank& rank : record.measurement.per_rank) {
    add(fmt::format("rank {} of {} on {}", rank.rank, record.cell.ranks, rank.host),
        rank.memory_bytes);
  }
}

bool SoakCollector::take(const Record& record) {
  if (!record.soak) return false;
  SoakRun& run = run_of(record);
  ++run.records;
  run.rounds = std::max(run.rounds, record.soak->round);
  run.hours = std::max(run.hours, hours_of(record));
  if (record.measurement.outcome == Outcome::kError) ++run.errors;
  take_memory(run, record);
  if (record.soak->idle_ns > 0) {
    take_cold(run, record);
    return true;
  }
  if (!is_measured(record)) return true;
  if (record.cell.kind == CellKind::kLink) {
    take_links(run, record);
  } else if (record.measurement.ops_per_s) {
    track(run, cell_id(record), soaked_name(record), SoakUnit::kPerSecond)
        .series.add(hours_of(record), record.soak->round, *record.measurement.ops_per_s);
  } else if (record.time_ns.p50) {
    track(run, cell_id(record), soaked_name(record), SoakUnit::kTime)
        .series.add(hours_of(record), record.soak->round, *record.time_ns.p50);
  }
  return true;
}

void SoakCollector::take(SoakEvent event) {
  if (events_.size() < kMostSoakEvents) {
    events_.push_back(std::move(event));
  } else {
    ++left_out_[event.run_id];
  }
}

std::vector<SoakRun> SoakCollector::finish() {
  for (SoakEvent& event : events_) {
    const auto run = run_index_.find(event.run_id);
    if (run != run_index_.end()) runs_[run->second].events.push_back(std::move(event));
  }
  for (const auto& [run_id, count] : left_out_) {
    const auto run = run_index_.find(run_id);
    if (run != run_index_.end()) runs_[run->second].events_left_out = count;
  }
  return std::move(runs_);
}

}  // namespace plumbline
