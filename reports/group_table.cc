// The tables of measurements. One list of columns per kind of matrix: what it is called, its unit,
// how soon it may be left out on a narrow terminal, and how its cell is made.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "core/op.h"
#include "core/units.h"
#include "reports/content.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using Notes = std::vector<std::string>;

struct ColumnSpec {
  Column column;
  std::string (*cell)(const Pair& pair);
  // Where set, in place of `cell`: may add to the notes below the table, and refer to them.
  std::string (*with_note)(const Pair& pair, Notes& notes) = nullptr;
};

constexpr const char* kNoAnswer = "n/a";  // too few samples

const Cell& cell_of(const Pair& pair) { return pair.any().record->cell; }

const Item* measured(const Item* item) {
  return item && item->time.n > 0 && item->verdict != Verdict::kError ? item : nullptr;
}

std::string time_text(const Item* item) {
  if (!item || item->verdict == Verdict::kError) return {};
  if (item->time.n > 0) return us_text(item->time.p50);
  return item->imported() ? us_text(item->typical_ns) : std::string();
}
std::string algbw_text(const Item* item) { return item ? gbps_text(item->algbw_Bps) : ""; }
std::string busbw_text(const Item* item) { return item ? gbps_text(item->busbw_Bps) : ""; }

std::string wrong_text(const Item* item) {
  if (!item || !item->record->measurement.wrong) return {};
  return fmt::format("{}", *item->record->measurement.wrong);
}

std::string ci_text(const Item* item) {
  if (!measured(item)) return {};
  const auto& ci = item->time.p50_ci95;
  return ci ? us_text(ci->first) + ".." + us_text(ci->second) : kNoAnswer;
}

std::string p99_text(const Item* item) {
  if (!measured(item)) return {};
  return item->time.p99 ? us_text(item->time.p99) : kNoAnswer;
}

// Number of this note below the table, which has it once.
size_t number_of(const std::string& note, Notes& notes) {
  auto found = std::find(notes.begin(), notes.end(), note);
  if (found == notes.end()) found = notes.insert(notes.end(), note);
  return static_cast<size_t>(found - notes.begin()) + 1;
}

// "86", or "298 [2]" where that shows a bad roof.
std::string roof_text(const Item* item, Notes& notes) {
  if (!item) return {};
  const std::string share =
      percent_text(item->of_bandwidth ? item->of_bandwidth : item->of_latency);
  if (item->no_roof.empty()) return share;
  return fmt::format("{} [{}]", share, number_of(item->no_roof, notes));
}

std::string predicted_text(const Item* item) {
  return item ? us_text(item->predicted_ns) : std::string();
}
// One word for both placements, two where they differ.
std::string limit_text(const Pair& pair) {
  std::string text;
  for (const Item* item : {pair.out, pair.in}) {
    const std::string word = item && item->limit ? to_string(*item->limit) : "";
    if (word.empty() || word == text) continue;
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

std::string size_text(const Pair& p) { return fmt::format("{}", cell_of(p).bytes); }
std::string count_text(const Pair& p) { return fmt::format("{}", cell_of(p).count); }
std::string type_text(const Pair& p) { return clean(cell_of(p).dtype); }
std::string redop_text(const Pair& p) { return clean(cell_of(p).redop); }
std::string root_text(const Pair& p) { return fmt::format("{}", cell_of(p).root); }

// What `auto` chose, and the parameter that a name without one was taken for; empty when nothing
// was left to choose.
std::string chosen_text(const Pair& p) {
  const std::string& asked = cell_of(p).algorithm;
  const std::string& ran = p.any().record->measurement.resolved.algorithm;
  const bool filled_in = ran != asked && algorithm_base(ran) == asked;
  return asked == "auto" || filled_in ? clean(ran) : std::string();
}

// How well the common start is known, where that is more than nothing: the bound of the clocks from
// 1 % of the time on, and the samples that were given up.
std::string window_text(const Item& item) {
  const Measurement& m = item.record->measurement;
  std::string text;
  const auto error = m.extra.find(kClockError);
  if (error != m.extra.end() && item.time.p50 && error->second >= 0.01 * *item.time.p50) {
    text += fmt::format(" +-{} us", us_text(error->second));
  }
  const auto late = m.extra.find(kLateSamples);
  if (late != m.extra.end() && late->second > 0) {
    text += fmt::format(" ({:.0f} of {:.0f} late)", late->second,
                        late->second + static_cast<double>(item.time.n));
  }
  return text;
}

// Independent variables that have no column of their own and are not at their default.
std::string variant_text(const Pair& p) {
  const Cell& cell = cell_of(p);
  std::vector<std::string> parts;
  if (cell.repeat > 0) parts.push_back(fmt::format("repetition {}", cell.repeat));
  if (p.any().launches > 1) parts.push_back(fmt::format("{} launches", p.any().launches));
  // How another tool began its operations is its own affair; the note names the tool.
  if (cell.sync != "barrier" && !p.any().imported())
    parts.push_back("sync " + cell.sync + window_text(p.any()));
  for (const std::string& word : other_words(cell)) parts.push_back(word);
  for (const auto& [name, value] : cell.params) parts.push_back(name + "=" + value);
  return clean(join(parts, ", "));
}

// Of compressed results: the larger error of both placements.
std::string error_text(const Pair& p) {
  std::optional<double> most;
  for (const Item* item : {p.out, p.in}) {
    if (item == nullptr) continue;
    const auto& extra = item->record->measurement.extra;
    const auto error = extra.find(kMaxErrorRel);
    if (error != extra.end()) most = std::max(most.value_or(0), error->second);
  }
  return most ? fmt::format("{:.1e}", *most) : std::string();
}

// nccl-tests' columns in its order, then what it does not have. `bandwidth` decides whether the
// time or the bus bandwidth survives on a narrow terminal.
std::vector<ColumnSpec> pair_columns(bool bandwidth) {
  const int time = bandwidth ? 2 : 0;
  const int busbw = bandwidth ? 0 : 3;
  const std::string out = "out-of-place";
  const std::string in = "in-place";
  return {
      {{"", "size", "B"}, size_text},
      {{"", "count", "elements", false, 12}, count_text},
      {key_column({"", "type", "", false, 4}), type_text},
      {key_column({"", "redop", "", false, 10}), redop_text},
      {key_column({"", "root", "", false, 13}), root_text},
      {{"", "chosen", "", true, 7, true}, chosen_text},
      {key_column({"", "variant", "", true, 2, true}), variant_text},
      {{out, "time", "us", false, time, true}, [](const Pair& p) { return time_text(p.out); }},
      {{out, "algbw", "GB/s", false, 11, true}, [](const Pair& p) { return algbw_text(p.out); }},
      {{out, "busbw", "GB/s", false, busbw, true}, [](const Pair& p) { return busbw_text(p.out); }},
      {{out, "#wrong", "", false, 5, true}, [](const Pair& p) { return wrong_text(p.out); }},
      {{in, "time", "us", false, time + 6, true}, [](const Pair& p) { return time_text(p.in); }},
      {{in, "algbw", "GB/s", false, 12, true}, [](const Pair& p) { return algbw_text(p.in); }},
      {{in, "busbw", "GB/s", false, busbw + 6, true},
       [](const Pair& p) { return busbw_text(p.in); }},
      {{in, "#wrong", "", false, 9, true}, [](const Pair& p) { return wrong_text(p.in); }},
      {{out, "p50 95% CI", "us", false, 5, true}, [](const Pair& p) { return ci_text(p.out); }},
      {{out, "p99", "us", false, 6, true}, [](const Pair& p) { return p99_text(p.out); }},
      {{out, "of roof", "%", false, 4, true},
       nullptr,
       [](const Pair& p, Notes& notes) { return roof_text(p.out, notes); }},
      {{out, "predicted", "us", false, 7, true},
       [](const Pair& p) { return predicted_text(p.out); }},
      {{in, "p50 95% CI", "us", false, 14, true}, [](const Pair& p) { return ci_text(p.in); }},
      {{in, "p99", "us", false, 14, true}, [](const Pair& p) { return p99_text(p.in); }},
      {{in, "of roof", "%", false, 14, true},
       nullptr,
       [](const Pair& p, Notes& notes) { return roof_text(p.in, notes); }},
      {{in, "predicted", "us", false, 15, true},
       [](const Pair& p) { return predicted_text(p.in); }},
      {{"", "limit", "", true, 6, true}, limit_text},
      {{"", "max error", "of largest", false, 4, true}, error_text},
  };
}

std::string placement_text(const Pair& p) { return clean(cell_of(p).placement); }
std::string outstanding_text(const Pair& p) { return fmt::format("{}", cell_of(p).outstanding); }

std::string ops_text(const Pair& p) {
  const std::optional<double> ops = p.any().record->measurement.ops_per_s;
  if (!ops || !std::isfinite(*ops)) return {};
  return *ops < 1000 ? fmt::format("{:.1f}", *ops) : fmt::format("{:.0f}", *ops);
}

std::string rate_text(const Pair& p) {
  return cell_of(p).bytes ? gbps_text(p.any().record->measurement.bytes_per_s) : std::string();
}

std::vector<ColumnSpec> throughput_columns() {
  return {
      {{"", "size", "B"}, size_text},
      {{"", "count", "elements", false, 9}, count_text},
      {key_column({"", "type", "", false, 4}), type_text},
      {key_column({"", "redop", "", false, 7}), redop_text},
      {key_column({"", "placement", "", false, 8}), placement_text},
      {{"", "chosen", "", true, 6, true}, chosen_text},
      {key_column({"", "variant", "", true, 3, true}), variant_text},
      {{"", "outstanding", "ops"}, outstanding_text},
      {{"", "rate", "ops/s"}, ops_text},
      {{"", "data", "GB/s", false, 1, true}, rate_text},
      {{"", "busbw", "GB/s", false, 3, true}, [](const Pair& p) { return busbw_text(&p.any()); }},
      {{"", "p50", "us", false, 4, true}, [](const Pair& p) { return time_text(&p.any()); }},
      {{"", "p99", "us", false, 5, true}, [](const Pair& p) { return p99_text(&p.any()); }},
      {{"", "#wrong", "", false, 2, true}, [](const Pair& p) { return wrong_text(&p.any()); }},
      {{"", "max error", "of largest", false, 4, true}, error_text},
  };
}

Tone row_tone(Verdict verdict) {
  if (verdict == Verdict::kClean) return Tone::kPlain;
  return verdict == Verdict::kNoisy || verdict == Verdict::kSkipped ? Tone::kWarn : Tone::kBad;
}

// "; lost 2 of 191 datagrams (1.0 %), jitter 7.1 us" of another tool's UDP test; our own have a
// table for it.
std::string loss_text(const Measurement& m) {
  const auto lost = m.extra.find("lost_datagrams"), sent = m.extra.find("sent_datagrams");
  std::string text;
  if (lost != m.extra.end() && sent != m.extra.end() && sent->second > 0) {
    text += fmt::format("; lost {:.0f} of {:.0f} datagrams ({} %)", lost->second, sent->second,
                        percent_text(lost->second / sent->second));
  }
  const auto jitter = m.extra.find("jitter_ns");
  if (jitter != m.extra.end()) text += ", jitter " + format_duration(jitter->second);
  return text;
}

// Where an imported number comes from and what it is.
std::string imported_text(const Item& item) {
  const Reported& told = *item.record->measurement.reported;
  std::string text = "imported from " + told.tool;
  if (!told.version.empty()) text += " " + told.version;
  if (item.statistic == "p50") {
    text += ": time is the median of its samples";
  } else if (!item.statistic.empty()) {
    const char* what = item.typical_ns ? "time" : "the rate";
    text += fmt::format(": {} is the {} that it printed", what, item.statistic);
  }
  if (!told.note.empty()) text += "; " + told.note;
  return text + loss_text(item.record->measurement);
}

// Why an item is not clean, in words, or where it comes from; empty for a clean one of our own.
std::string reason_of(const Item& item) {
  const Measurement& m = item.record->measurement;
  const std::string cause = m.cause.empty() ? std::string() : " (" + m.cause + ")";
  const std::string reason = reason_text(m.reason);
  switch (item.verdict) {
    case Verdict::kClean:
      return item.imported() ? imported_text(item) : std::string();
    case Verdict::kNoisy:
      return "noisy: " + join(item.record->noise.causes, ", ");
    case Verdict::kSkipped:
      return "skipped: " + reason + cause;
    case Verdict::kFailed:
      return "failed: " + reason + cause;
    case Verdict::kError:
      return "error: " + reason + cause;
    case Verdict::kInvalid:
      if (m.wrong.value_or(0) == 0) return "invalid: " + join(item.record->noise.causes, ", ");
      return "wrong data" + (m.reason.empty() ? std::string() : ": " + m.reason) + cause;
  }
  return {};
}

// "noisy [1]"; the reason goes into `notes` once.
std::string noted_verdict(const Pair& pair, Notes& notes) {
  const Item& worse =
      pair.out && pair.in && pair.in->verdict > pair.out->verdict ? *pair.in : pair.any();
  std::string text = verdict_word(worse);
  std::set<size_t> numbers;
  for (const Item* item : {pair.out, pair.in}) {
    const std::string reason = item ? clean(reason_of(*item)) : std::string();
    if (reason.empty()) continue;
    numbers.insert(number_of(reason, notes));
  }
  for (const size_t number : numbers) text += fmt::format(" [{}]", number);
  return text;
}

// Each placement on its own row: throughput has one set of columns.
std::vector<Pair> split_placements(const std::vector<Pair>& rows) {
  std::vector<Pair> out;
  for (const Pair& pair : rows) {
    if (pair.out) out.push_back({pair.out, nullptr});
    if (pair.in) out.push_back({nullptr, pair.in});
  }
  return out;
}

struct CheckRow {
  Counts counts;
  std::set<int> ranks;
  std::set<std::string> types;
  uint64_t least_bytes = UINT64_MAX, most_bytes = 0;

  void add(const Item& item) {
    counts.add(item);
    ranks.insert(item.record->cell.ranks);
    types.insert(item.record->cell.dtype);
    least_bytes = std::min(least_bytes, item.record->cell.bytes);
    most_bytes = std::max(most_bytes, item.record->cell.bytes);
  }
};

// A column in which no row has an answer (the p99 of operations that are all too few) tells
// nothing: it goes with the empty ones.
void blank_unanswered(Table& table) {
  for (size_t column = 0; column < table.columns.size(); ++column) {
    const bool answered = std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
      return !row.cells[column].empty() && row.cells[column] != kNoAnswer;
    });
    if (answered) continue;
    for (TableRow& row : table.rows) row.cells[column].clear();
  }
}

}  // namespace

Table group_table(const ViewGroup& group, Notes& notes) {
  const Headline headline = row(group.kind).headline;
  const bool sustained = headline == Headline::kOperationRate;
  const std::vector<ColumnSpec> specs =
      sustained ? throughput_columns() : pair_columns(headline == Headline::kBusBandwidth);
  Table table;
  for (const ColumnSpec& spec : specs) table.columns.push_back(spec.column);
  table.columns.push_back({"", "verdict", "", true});
  for (const Pair& pair : sustained ? split_placements(group.rows) : group.rows) {
    TableRow& row = table.rows.emplace_back();
    for (const ColumnSpec& spec : specs) {
      row.cells.push_back(spec.with_note ? spec.with_note(pair, notes) : spec.cell(pair));
    }
    row.cells.push_back(noted_verdict(pair, notes));
    row.tone = row_tone(pair.verdict());
  }
  blank_unanswered(table);
  return without_empty_columns(table);
}

std::vector<std::string> numbered(const Notes& notes) {
  std::vector<std::string> lines;
  for (const std::string& note : notes) {
    lines.push_back(fmt::format("[{}] {}", lines.size() + 1, note));
  }
  return lines;
}

Table check_table(const View& view) {
  Table table;
  table.columns = {{"", "operation", "", true, 0, false},    {"", "algorithm", "", true, 0, true},
                   {"", "transport", "", true, 4, true},     {"", "ranks", "", true, 5, true},
                   {"", "types", "", false, 6, true},        {"", "sizes", "", true, 7, true},
                   {"", "pass", "", false, 0, false},        {"", "fail", "", false, 0, false},
                   {"", "skipped", "", false, 2, false},     {"", "error", "", false, 1, false},
                   {"", "wrong", "elements", false, 3, true}};
  // The groups are sorted; ranks come before transport and algorithm, so rows are found again.
  std::vector<std::array<std::string, 3>> order;
  std::map<std::array<std::string, 3>, CheckRow> rows;
  for (const ViewGroup& group : view.groups) {
    if (group.kind != CellKind::kCheck) continue;
    const std::array<std::string, 3> key = {group.op, group.algorithm, group.transport};
    if (!rows.contains(key)) order.push_back(key);
    for (const Pair& pair : group.rows) {
      if (pair.out) rows[key].add(*pair.out);
      if (pair.in) rows[key].add(*pair.in);
    }
  }
  for (const auto& key : order) {
    const CheckRow& row = rows[key];
    const auto number = [](uint64_t value) { return fmt::format("{}", value); };
    const std::string sizes =
        row.least_bytes == row.most_bytes
            ? format_bytes(row.most_bytes)
            : format_bytes(row.least_bytes) + ".." + format_bytes(row.most_bytes);
    const bool bad = row.counts.failed + row.counts.errors > 0;
    table.rows.push_back(
        {{clean(key[0]), clean(key[1]), clean(key[2]), ranges_text(row.ranks),
          number(row.types.size()), sizes, number(row.counts.passed), number(row.counts.failed),
          number(row.counts.skipped), number(row.counts.errors),
          row.counts.wrong ? number(row.counts.wrong) : std::string()},
         bad                  ? Tone::kBad
         : row.counts.skipped ? Tone::kWarn
                              : Tone::kGood});
  }
  return without_empty_columns(table);
}

}  // namespace plumbline
