#include "reports/content.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/diagnosis/finding.h"
#include "core/record/record.h"
#include "core/record/roof.h"
#include "core/units.h"
#include "reports/alike.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

constexpr size_t kListedFailures = 50;  // more would bury the tables; the CSV has them all

void push_unique(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) {
    list.push_back(text);
  }
}

std::string machine_text(const HostFacts& host) {
  std::vector<std::string> parts;
  if (!host.cpu_model.empty()) parts.push_back(host.cpu_model);
  parts.push_back(fmt::format("{} of {} cores usable", host.cores_usable, host.cores_online));
  if (host.memory_bytes) parts.push_back(format_bytes(host.memory_bytes) + " memory");
  if (!host.os.empty()) parts.push_back(host.os);
  if (!host.kernel.empty()) parts.push_back(host.kernel);
  if (host.virtualisation) parts.push_back("virtualised (" + *host.virtualisation + ")");
  if (host.governor) parts.push_back("governor " + *host.governor);
  if (host.clock_source) parts.push_back("clock " + *host.clock_source);
  if (host.congestion_control) parts.push_back("TCP default " + *host.congestion_control);
  if (host.load1) parts.push_back(fmt::format("load {:.2f}", *host.load1));
  return "Machine " + (host.hostname.empty() ? std::string("(no name)") : host.hostname) + ": " +
         join(parts, ", ");
}

// Options that somebody set, with where: what a reader must know to repeat the run.
std::string options_text(const Environment& environment) {
  std::vector<std::string> parts;
  for (const auto& [name, option] : environment.options) {
    if (option.origin != "default") {
      parts.push_back(fmt::format("{}={} ({})", name, option.value, option.origin));
    }
  }
  return parts.empty() ? std::string() : "Options set: " + join(parts, ", ");
}

std::string runs_text(const View& view) {
  auto [scenarios, runs, versions, first, last] = origin_of(view);
  constexpr size_t kNamedRuns = 8;
  if (runs.size() > kNamedRuns) {
    const size_t more = runs.size() - kNamedRuns;
    runs.resize(kNamedRuns);
    runs.push_back(fmt::format("and {} more", more));
  }
  std::vector<std::string> parts;
  if (!scenarios.empty()) parts.push_back("scenario " + join(scenarios, ", "));
  if (!runs.empty()) parts.push_back((runs.size() == 1 ? "run " : "runs ") + join(runs, ", "));
  if (!versions.empty()) parts.push_back("plumbline " + join(versions, ", "));
  if (!first.empty()) parts.push_back(first == last ? first : first + " to " + last);
  return join(parts, "; ");
}

// "Roofs: bare socket ping-pong 8 B 9.8 us round trip; one-way stream 4 MiB 5.63 GB/s; ..."
std::string roofs_text(const View& view) {
  std::vector<std::string> parts;
  std::vector<int> worlds;
  worlds.reserve(view.roofs.size());
  for (const Item* roof : view.roofs) worlds.push_back(roof->record->cell.ranks);
  const bool several =
      std::adjacent_find(worlds.begin(), worlds.end(), std::not_equal_to<>()) != worlds.end();
  for (const RoofRow& row : kRoofTable) {
    std::map<std::pair<int, uint64_t>, std::string> values;
    for (const Item* roof : view.roofs) {
      const std::optional<double> rate = roof_rate_Bps(*roof);
      if (roof->record->cell.op != row.op || !roof->valid()) continue;
      if (row.latency ? !roof->time.p50.has_value() : !rate.has_value()) continue;
      std::string text = format_bytes(roof->record->cell.bytes) + " ";
      text += row.latency ? format_duration(*roof->time.p50) : format_rate(*rate);
      text += row.suffix;
      if (several) text += fmt::format(" ({} ranks)", roof->record->cell.ranks);
      values[{roof->record->cell.ranks, roof->record->cell.bytes}] = text;
    }
    std::vector<std::string> texts;
    texts.reserve(values.size());
    for (const auto& [key, text] : values) texts.push_back(text);
    if (!texts.empty()) parts.push_back(std::string(row.label) + " " + join(texts, ", "));
  }
  return parts.empty() ? std::string() : "Roofs of ranks 0 and 1: " + join(parts, "; ");
}

std::string finding_text(const Finding& finding) {
  const std::string gist = gist_of(finding);
  return fmt::format("{}: {}{}{}", to_string(finding.outcome), title_of(finding),
                     gist.empty() ? "" : ": ", gist);
}

std::string checks_text(const ReportInput& input) {
  if (input.checks.empty()) return {};
  return "Probes: " + tally_of(input.checks, input.findings).text();
}

// Roofs that could not be measured are no rows of a table, but nobody may overlook them.
void add_bad_roofs(const View& view, Document& document) {
  std::vector<std::string> lines;
  for (const Item* roof : view.roofs) {
    if (roof->record->measurement.outcome == Outcome::kPassed) continue;
    lines.push_back(describe(*roof->record) + ": " + to_string(roof->record->measurement.outcome) +
                    ": " + roof->record->measurement.reason);
  }
  document.list(lines);
}

}  // namespace

RunOrigin origin_of(const View& view) {
  RunOrigin origin;
  for (const Item& item : view.items) {
    const Record& record = *item.record;
    push_unique(origin.runs, record.run_id);
    push_unique(origin.scenarios, record.scenario);
    push_unique(origin.versions, record.suite_version);
    if (record.time.empty()) continue;
    if (origin.first.empty() || record.time < origin.first) origin.first = record.time;
    origin.last = std::max(origin.last, record.time);
  }
  return origin;
}

std::vector<std::string> noise_notes(const View& view) {
  std::map<std::string, size_t> rows;
  for (const Item& item : view.items) {
    // Of an error or of wrong data the causes only repeat what the row says.
    if (!item.valid()) continue;
    for (const std::string& cause : item.record->noise.causes) rows[cause] += item.launches;
  }
  std::vector<std::string> notes;
  for (const auto& [cause, count] : rows) {
    std::string text =
        fmt::format("noise: {} in {} of {} records", cause, count, view.counts.total());
    if (cause == "oversubscribed") {
      text += "; more busy threads than usable cores, so compare these rows only with one another";
    }
    notes.push_back(text);
  }
  return notes;
}

// Each once, however many records say it.
std::vector<std::string> fell_back_notes(const View& view) {
  std::set<std::string> notes;
  for (const Item& item : view.items) {
    for (const FellBack& pairs : item.record->measurement.resolved.fell_back) {
      notes.insert(clean(fell_back_text(pairs)));
    }
  }
  return {notes.begin(), notes.end()};
}

const Record* planned_record(const View& view) {
  for (const Item& item : view.items) {
    if (!item.record->plan_hash.empty()) return item.record;
  }
  return nullptr;
}

std::string congestion_text(const View& view) {
  std::map<std::string, uint64_t> cells;
  for (const Item& item : view.items) {
    const std::string& name = item.record->measurement.resolved.congestion_control;
    if (name.empty()) continue;
    const std::string owner = item.imported() ? " (" + item.record->cell.engine + ")" : "";
    cells[clean(name) + owner] += item.launches;
  }
  std::vector<std::string> parts;
  for (const auto& [name, count] : cells) {
    parts.push_back(cells.size() == 1 ? name : fmt::format("{} in {} cells", name, count));
  }
  return parts.empty() ? std::string()
                       : "TCP congestion control of the connections: " + join(parts, ", ");
}

std::string cost_text(const std::vector<Record>& records) {
  std::vector<double> costs_ns;
  for (size_t i = 1; i < records.size(); ++i) {
    const Record &before = records[i - 1], &record = records[i];
    const bool same_ranks =
        before.launches == 1 && record.launches == 1 && before.run_id == record.run_id &&
        world_of(before.cell) == world_of(record.cell) &&
        before.measurement.outcome != Outcome::kError && record.cell.kind != CellKind::kLink;
    const auto from = epoch_ms(before.time), to = epoch_ms(record.time);
    if (!same_ranks || !from || !to || record.measurement.elapsed_ns <= 0) continue;
    const double gap_ns = static_cast<double>(*to - *from) * 1e6;
    costs_ns.push_back(std::max(0.0, gap_ns - static_cast<double>(record.measurement.elapsed_ns)));
  }
  constexpr size_t kFew = 5;  // times are known to a millisecond
  if (costs_ns.size() < kFew) return "";
  return fmt::format("Overhead per cell, outside its timed part: {} (median of {})",
                     format_duration(median(costs_ns)), costs_ns.size());
}

std::vector<std::string> check_failures(const View& view) {
  std::vector<std::string> lines;
  std::map<std::string, size_t> skipped;
  size_t more = 0;
  for (const Item& item : view.items) {
    const Measurement& m = item.record->measurement;
    if (item.record->cell.kind != CellKind::kCheck || m.outcome == Outcome::kPassed) continue;
    if (m.outcome == Outcome::kSkipped) {
      ++skipped[m.reason];
    } else if (lines.size() >= kListedFailures) {
      ++more;
    } else {
      std::string line = describe(*item.record) + ": " + to_string(m.outcome);
      if (!m.reason.empty()) line += ": " + m.reason;
      if (m.wrong.value_or(0) > 0) line += fmt::format("; {} wrong elements", *m.wrong);
      if (!m.cause.empty()) line += " (" + m.cause + ")";
      lines.push_back(line);
    }
  }
  if (more) lines.push_back(fmt::format("... and {} more; the csv report lists all", more));
  for (const auto& [reason, count] : skipped) {
    lines.push_back(fmt::format("{} x skipped: {}", count, reason_text(reason)));
  }
  return lines;
}

void add_introduction(const ReportInput& input, const View& view, Document& document) {
  std::vector<std::string> questions, options;
  std::vector<std::pair<std::string, std::string>> machines;  // by host name
  for (const Item& item : view.items) {
    push_unique(questions, item.record->question);
    for (const HostFacts& host : item.record->environment.hosts) {
      // The load differs from record to record; the first state of each machine is enough.
      const auto same = [&](const auto& machine) { return machine.first == host.hostname; };
      if (std::none_of(machines.begin(), machines.end(), same)) {
        machines.emplace_back(host.hostname, machine_text(host));
      }
    }
    push_unique(options, options_text(item.record->environment));
  }
  for (const std::string& question : questions) document.paragraph("Question: " + question);
  document.paragraph(runs_text(view));
  for (const auto& [name, text] : machines) document.paragraph(text);
  document.paragraph(congestion_text(view));
  for (const std::string& line : options) document.paragraph(line);
  document.paragraph(roofs_text(view));
  add_bad_roofs(view, document);
  std::vector<std::string> notes = no_roof_notes(view);
  for (std::string& note : noise_notes(view)) notes.push_back(std::move(note));
  for (std::string& note : fell_back_notes(view)) notes.push_back(std::move(note));
  if (view.superseded) {
    notes.push_back(fmt::format("{} earlier records left out: a later one measures the same cell",
                                view.superseded));
  }
  notes.insert(notes.end(), input.notes.begin(), input.notes.end());
  document.list(notes);
  document.paragraph(cost_text(input.records));
  document.paragraph(checks_text(input));
  std::vector<std::string> findings;
  for (const Finding& finding : alike_as_one(input.findings)) {
    findings.push_back(finding_text(finding));
  }
  document.list(findings);
}

std::string verification_text(const View& view) {
  VerifiedCount all;
  size_t unknown = 0, unverified = 0;
  for (const Item& item : view.items) {
    const Measurement& m = item.record->measurement;
    if (!row(item.record->cell.kind).collective) continue;
    if (m.outcome != Outcome::kPassed && m.outcome != Outcome::kFailed) continue;
    const auto count = verified_count(m);
    if (count) {
      all.verified += count->verified;
      all.operations += count->operations;
    } else {
      ++(m.wrong ? unknown : unverified);
    }
  }
  std::vector<std::string> parts;
  if (all.operations > 0) {
    parts.push_back(fmt::format("verified {} of {} operations", all.verified, all.operations));
  }
  if (unknown > 0) parts.push_back(plural(unknown, "cell") + " verified, count unknown");
  if (unverified > 0) parts.push_back(plural(unverified, "cell") + " not verified");
  return parts.empty() ? std::string() : "Data: " + join(parts, "; ");
}

void add_summary(const ReportInput& input, const View& view, Document& document) {
  const Counts& counts = view.counts;
  document.heading(1, "Summary");
  for (const std::string& text : input.incomplete) {
    document.paragraph("Incomplete: " + text, Tone::kWarn);
  }
  if (counts.total() == 0) {
    document.paragraph("no records", Tone::kWarn);
    return;
  }
  const bool bad = counts.failed + counts.errors + counts.invalid > 0;
  document.paragraph(cells_text(counts), bad                        ? Tone::kBad
                                         : input.incomplete.empty() ? Tone::kGood
                                                                    : Tone::kWarn);
  document.paragraph(verification_text(view));
  if (!input.rules.empty()) {
    const Tally rules = tally_of(input.rules);
    const bool met = rules.of(Standing::kFail) == 0;
    document.paragraph(rules.text("rule"), met ? Tone::kGood : Tone::kBad);
  }
  const RunAnswer answer = answer_of(input, view, link_worlds(view));
  document.paragraph("Verdict: " + answer.word, answer.tone);
}

}  // namespace plumbline
