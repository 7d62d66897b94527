#include "reports/record_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "core/op.h"
#include "core/record/record.h"
#include "core/stats/stats.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

constexpr size_t kMostSeen = size_t{1} << 23;  // records that are checked for being there twice

// About what a record takes, samples and text included.
size_t bytes_of(const Record& record) {
  constexpr size_t kOption = 250, kHost = 3000, kNic = 500, kRank = 300, kLink = 600;
  size_t bytes = sizeof(Record) + record.measurement.samples_ns.size() * sizeof(int64_t) +
                 record.measurement.hist.sparse().size() * 16 +
                 record.measurement.per_rank.size() * kRank +
                 record.environment.options.size() * kOption;
  for (const HostFacts& host : record.environment.hosts) bytes += kHost + host.nics.size() * kNic;
  for (const LinkResult& link : record.measurement.links) {
    bytes += kLink;
    for (const LinkStream& stream : link.streams) bytes += stream.series.size() * sizeof(uint64_t);
  }
  return bytes;
}

// What the records that become one must have in common.
std::string launch_class(const std::string& cell, const Record& record) {
  const Measurement& m = record.measurement;
  return fmt::format("{} {} {} {} {} {}", cell, to_string(m.outcome), record.noise.verdict,
                     m.wrong.value_or(0) > 0, transport_of(record), m.resolved.algorithm);
}

}  // namespace

void RecordSet::take_round(const Record& record) {
  const std::string key = record.run_id + " " + ids_.of(record.cell);
  const auto [found, is_new] = rounds_.try_emplace(key, kept_.size());
  if (is_new) {
    kept_.push_back(record);
  } else {
    kept_[found->second] = record;
  }
}

void RecordSet::take(const Record& record) {
  ++taken_;
  if (merged_) {
    merge(record);
    return;
  }
  keep(record);
  if (kept_.size() - rounds_.size() > limits_.records || bytes_ > limits_.bytes) merge_all();
}

void RecordSet::keep(const Record& record) {
  kept_.push_back(record);
  std::vector<int64_t>& samples = kept_.back().measurement.samples_ns;
  if (!samples.empty() && samples_ + samples.size() > limits_.samples) {
    samples = {};
    recompute(kept_.back());
    ++without_samples_;
  }
  samples_ += samples.size();
  bytes_ += bytes_of(kept_.back());
}

void RecordSet::merge_all() {
  merged_ = true;
  bytes_ = 0;
  std::vector<Record> rounds;
  for (Record& record : std::exchange(kept_, {})) {
    const bool round = rounds_.contains(record.run_id + " " + ids_.of(record.cell));
    if (round) {
      rounds.push_back(std::move(record));
    } else {
      merge(record);
    }
  }
  rounds_.clear();
  for (const Record& record : rounds) take_round(record);
}

bool RecordSet::seen_before(const std::string& cell, const Record& record) {
  if (seen_count_ >= kMostSeen) return false;
  // Where a hash is, or the empty place (0) for it.
  const auto place_of = [this](uint64_t hash) -> uint64_t& {
    size_t at = hash % seen_.size();
    while (seen_[at] != 0 && seen_[at] != hash) at = (at + 1) % seen_.size();
    return seen_[at];
  };
  if (seen_count_ * 2 >= seen_.size()) {
    std::vector<uint64_t> old(std::max<size_t>(1024, seen_.size() * 2));
    old.swap(seen_);
    for (const uint64_t hash : old) {
      if (hash != 0) place_of(hash) = hash;
    }
  }
  const uint64_t hash = (std::hash<std::string>()(record.run_id) * 0x9e3779b97f4a7c15U ^
                         std::hash<std::string>()(cell)) |
                        1;
  uint64_t& place = place_of(hash);
  if (place == hash) return true;
  place = hash;
  ++seen_count_;
  return false;
}

void RecordSet::merge(const Record& record) {
  const std::string cell = ids_.of(record.cell);
  retried_ += errors_.erase(cell);
  if (record.measurement.outcome == Outcome::kError) {
    if (errors_.size() < limits_.records) {
      errors_.emplace(cell, record);
    } else {
      ++left_out_[to_string(record.measurement.outcome)];
    }
    return;
  }
  if (seen_before(cell, record)) {
    ++repeated_;
    return;
  }
  const std::string key = launch_class(cell, record);
  const auto found = place_.find(key);
  if (found != place_.end()) {
    add(record, launches_[found->second]);
    return;
  }
  if (launches_.size() >= limits_.records) {
    ++left_out_[to_string(record.measurement.outcome)];
    return;
  }
  place_.emplace(key, launches_.size());
  Launches& launches = launches_.emplace_back();
  launches.record = record;
  Measurement& m = launches.record.measurement;
  m.samples_ns = {};
  bytes_ += bytes_of(launches.record);
  if (bytes_ > limits_.bytes) launches.record.environment = {};
  if (record.time_ns.p50) launches.p50.push_back(*record.time_ns.p50);
  if (m.ops_per_s) launches.ops_per_s.push_back(*m.ops_per_s);
}

namespace {

// One launch whose count is unknown makes that of all unknown.
void add_verified(const Measurement& one, Measurement& all) {
  const auto more = verified_count(one), so_far = verified_count(all);
  all.verified = all.verified && one.verified;
  if (!more || !so_far) {
    all.extra.erase(kVerifiedOperations);
    return;
  }
  all.extra[kOperations] = static_cast<double>(so_far->operations + more->operations);
  all.extra[kVerifiedOperations] = static_cast<double>(so_far->verified + more->verified);
}

}  // namespace

void RecordSet::add(const Record& record, Launches& launches) {
  Record& sum = launches.record;
  const uint64_t so_far = sum.launches;
  if (record.cell.kind ==
      CellKind::kLink) {  // matrices cannot be added up: the last one stands for all
    sum = record;
    sum.launches = so_far + 1;
    return;
  }
  ++sum.launches;
  Measurement& m = sum.measurement;
  m.hist.merge(record.measurement.hist);
  m.iterations += record.measurement.iterations;
  m.elapsed_ns += record.measurement.elapsed_ns;
  if (m.wrong) *m.wrong += record.measurement.wrong.value_or(0);
  add_verified(record.measurement, m);
  sum.time = std::max(sum.time, record.time);
  if (record.time_ns.p50) launches.p50.push_back(*record.time_ns.p50);
  if (record.measurement.ops_per_s) launches.ops_per_s.push_back(*record.measurement.ops_per_s);
}

void RecordSet::finish(Launches& launches) {
  Record& record = launches.record;
  if (record.launches == 1 || record.cell.kind == CellKind::kLink) return;
  Measurement& m = record.measurement;
  m.per_rank.clear();  // of one launch
  std::erase_if(m.extra, [](const auto& entry) {
    return entry.first != kOperations && entry.first != kVerifiedOperations;
  });
  if (m.ops_per_s) {
    TimeSummary rates;
    set_median(launches.ops_per_s, rates);
    m.ops_per_s = rates.p50;
    if (m.bytes_per_s && m.ops_per_s) {
      m.bytes_per_s = *m.ops_per_s * static_cast<double>(record.cell.bytes);
    }
  }
  const std::string stop = record.time_ns.stop_reason;
  record.time_ns = summarize(m.hist);
  record.time_ns.stop_reason = stop;
  set_median(launches.p50, record.time_ns);
  const Rates rates = rates_of(record.cell, m, record.time_ns);
  record.algbw_Bps = rates.algbw_Bps;
  record.busbw_Bps = rates.busbw_Bps;
}

std::vector<std::string> RecordSet::notes() const {
  std::vector<std::string> notes;
  if (without_samples_ > 0 && !merged_) {
    notes.push_back(
        fmt::format("of {} of {} records only the histogram is used: together they hold "
                    "more than {} single samples",
                    without_samples_, taken_, limits_.samples));
  }
  if (!merged_) return notes;
  notes.push_back(fmt::format(
      "{} records are too many for tables: launches of the same cell are merged; p50 is the median "
      "of the launches' medians, its interval is over launches, everything else is over all "
      "samples; the csv report has every record",
      taken_));
  if (repeated_ > 0) {
    notes.push_back(fmt::format(
        "{} records repeat a cell of the same run; of each the first counts", repeated_));
  }
  if (retried_ > 0) {
    notes.push_back(fmt::format(
        "{} records left out: they ended in error and a later one is of the same cell", retried_));
  }
  std::vector<std::string> left_out;
  for (const auto& [outcome, count] : left_out_) {
    left_out.push_back(fmt::format("{} {}", count, outcome));
  }
  if (!left_out.empty()) {
    notes.push_back(
        fmt::format("records of further cells that are in no table: {}; tables end at "
                    "{} cells, the csv report has all",
                    join(left_out, ", "), limits_.records));
  }
  return notes;
}

std::vector<Record> RecordSet::release() {
  std::vector<Record> out = std::exchange(kept_, {});
  for (Launches& launches : launches_) {
    finish(launches);
    out.push_back(std::move(launches.record));
  }
  for (auto& [cell, record] : errors_) out.push_back(std::move(record));
  *this = RecordSet(limits_);
  return out;
}

}  // namespace plumbline
