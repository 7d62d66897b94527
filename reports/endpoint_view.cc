// Tables of cells that ask a server of language models: one for each server, model, way of asking
// and length, by the number of requests at a time, and the knee of such a sweep.
#include "reports/endpoint_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/stats/knee.h"
#include "core/units.h"
#include "reports/content.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using SweepKey =
    std::tuple<std::string, std::string, std::string, std::string, uint64_t, int, std::string>;
using Sweeps = std::map<SweepKey, std::vector<const Item*>>;

SweepKey sweep_key(const Cell& cell) {
  return {cell.url, cell.model, cell.api, cell.answer, cell.bytes, cell.max_tokens, cell.hosts};
}

Sweeps sweeps_of(const View& view) {
  Sweeps sweeps;
  for (const Item& item : view.items) {
    const Cell& cell = item.record->cell;
    if (cell.kind == CellKind::kEndpoint) sweeps[sweep_key(cell)].push_back(&item);
  }
  for (auto& [key, items] : sweeps) {
    std::stable_sort(items.begin(), items.end(), [](const Item* a, const Item* b) {
      return a->record->cell.outstanding < b->record->cell.outstanding;
    });
  }
  return sweeps;
}

std::string title_of_sweep(const Cell& cell) {
  std::string title = fmt::format("{} {} {}", clean(cell.url), clean(cell.api), clean(cell.answer));
  if (!cell.model.empty()) title += " of " + clean(cell.model);
  if (cell.bytes > 0) title += fmt::format(", question {}", format_bytes(cell.bytes));
  title += fmt::format(", at most {} tokens", cell.max_tokens);
  if (!cell.hosts.empty()) title += ", asked from " + clean(cell.hosts);
  return title;
}

std::string time_text(const std::optional<double>& ns) {
  return ns ? format_duration(*ns) : std::string();
}

std::string rate_text(const std::optional<double>& per_s) {
  return per_s ? fmt::format("{:.4g}", *per_s) : std::string();
}

double counted(const Measurement& m, std::string_view end) {
  return extra_of(m, endpoint_count_key(end).c_str()).value_or(0);
}

std::vector<std::string> row_cells(const Item& item) {
  const Measurement& m = item.record->measurement;
  const double all = extra_of(m, kEndpointRequests).value_or(0);
  const double answered = counted(m, "answered"), busy = counted(m, "busy");
  return {fmt::format("{}", item.record->cell.outstanding),
          time_text(item.time.p50),
          time_text(item.time.p99),
          time_text(extra_of(m, kEndpointGap50)),
          time_text(extra_of(m, kEndpointGap99)),
          time_text(extra_of(m, kEndpointAnswerTime)),
          rate_text(extra_of(m, kEndpointAnswerRate)),
          rate_text(extra_of(m, kEndpointTokenRate)),
          fmt::format("{:.0f}", answered),
          fmt::format("{:.0f}", busy),
          fmt::format("{:.0f}", all - answered - busy),
          verdict_word(item)};
}

Table sweep_table(const std::vector<const Item*>& items) {
  const bool streamed = items.front()->record->cell.answer != "whole";
  const char* first = streamed ? "first token" : "answer";
  Table table;
  table.columns = {{"", "at once", "", false},
                   {first, "p50", "", false},
                   {first, "p99", "", false},
                   {"between", "p50", "", false},
                   {"between", "p99", "", false},
                   {"", "whole", "", false},
                   {"one answer", "rate", "tok/s", false},
                   {"all", "rate", "tok/s", false},
                   {"", "answered", "", false},
                   {"", "busy", "", false},
                   {"", "failed", "", false},
                   {"", "verdict", "", true}};
  for (const Item* item : items) {
    TableRow& row = table.rows.emplace_back();
    row.cells = row_cells(*item);
    row.tone = item->valid() ? Tone::kGood : Tone::kBad;
  }
  return without_empty_columns(table);
}

// What went wrong, once each.
std::vector<std::string> sweep_notes(const std::vector<const Item*>& items) {
  std::vector<std::string> notes;
  for (const Item* item : items) {
    const Measurement& m = item->record->measurement;
    if (m.reason.empty()) continue;
    const std::string cause = m.cause.empty() ? std::string() : m.cause + ": ";
    notes.push_back(
        clean(fmt::format("{} at once: {}{}", item->record->cell.outstanding, cause, m.reason)));
  }
  const std::string knee = knee_text(items);
  if (!knee.empty()) notes.push_back(knee);
  return notes;
}

}  // namespace

std::string knee_text(const std::vector<const Item*>& sweep) {
  std::vector<LoadPoint> points;
  for (const Item* item : sweep) {
    const Measurement& m = item->record->measurement;
    points.push_back({static_cast<double>(item->record->cell.outstanding),
                      item->valid() ? extra_of(m, kEndpointTokenRate).value_or(0) : 0,
                      extra_of(m, kEndpointAnswerTime).value_or(0)});
  }
  const std::optional<Knee> knee = knee_of(points);
  if (!knee) return "";
  const LoadPoint& at = points[knee->index];
  return fmt::format("knee: {:.0f} at once, {:.4g} tokens/s, an answer in {}{}", at.load, at.rate,
                     format_duration(at.time_ns),
                     knee->at_end ? "; the sweep ends there, so it may lie beyond" : "");
}

void add_endpoint_tables(const View& view, const KindView& shown, Document& document) {
  const Sweeps sweeps = sweeps_of(view);
  if (sweeps.empty()) return;
  document.heading(1, shown.title);
  document.paragraph(
      "first token: from the request's leaving to the first token; between: between two tokens of "
      "one answer; whole: median time of a whole answer; one answer: tokens per second of one "
      "(median), all: of all together; knee: where tokens per second over the time of an answer "
      "are most");
  for (const auto& [key, items] : sweeps) {
    document.heading(2, title_of_sweep(items.front()->record->cell));
    document.table(sweep_table(items));
    document.list(sweep_notes(items));
  }
}

}  // namespace plumbline
