#include "reports/publish/bundle_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/json.h"
#include "core/record/record.h"
#include "reports/links/link_kinds.h"
#include "reports/publish/bundle_derive.h"
#include "reports/publish/bundle_hosts.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxSamples = 10'000'000;
constexpr int64_t kMaxNs = 60'000'000'000;

struct LeftOut {
  uint64_t noisy = 0, skipped = 0, other = 0;
};

void learn_names(const std::vector<const Record*>& records, Redactor& redactor) {
  for (const Record* record : records) {
    for (const HostFacts& host : record->environment.hosts) redactor.learn_host(host.hostname);
    for (const PerRank& rank : record->measurement.per_rank) redactor.learn_host(rank.host);
    for (const std::string& word : record->environment.command) redactor.learn_from(word);
    for (const auto& [name, option] : record->environment.options) {
      redactor.learn_from(option.value);
      redactor.learn_from(option.origin);
    }
  }
}

json row_json(const Record& record, const std::map<std::string, std::string>& ordinals,
              Redactor& redactor) {
  const Measurement& m = record.measurement;
  json hosts = json::array();
  bool pinned = !m.per_rank.empty();
  for (const PerRank& rank : m.per_rank) {
    hosts.push_back(ordinals.at(rank.host));
    pinned = pinned && rank.cpu >= 0;
  }
  const auto switches = m.extra.find(kInvoluntarySwitches);
  const double lost = switches == m.extra.end() ? 0 : switches->second;
  json cell = published_json(record.cell, redactor);
  cell["params"] = options_json(record.cell.params, redactor);
  json resolved = published_json(m.resolved, redactor);
  resolved["streams"] = std::max(0, m.resolved.streams);
  json row = {{"cell", std::move(cell)},
              {"resolved", std::move(resolved)},
              {"rank_hosts", std::move(hosts)},
              {"pinned", pinned},
              {"verified", m.verified},
              {"wrong", m.wrong.value_or(0)},
              {"noise",
               {{"verdict", record.noise.verdict},
                {"involuntary_switches",
                 lost >= 0 && lost < 9e15 ? static_cast<uint64_t>(std::llround(lost)) : 0},
                {"warmup_converged", m.warmup_converged}}},
              {"hist", m.hist},
              {"derived", derive_row(record.cell, m.hist)}};
  if (const auto count = verified_count(m)) {
    row["verified_operations"] = count->verified;
    row["operations"] = count->operations;
  }
  return row;
}

bool fits_format(const Record& record) {
  const Histogram& h = record.measurement.hist;
  const Cell& cell = record.cell;
  const bool kind = row(cell.kind).timing == CellTiming::kEach;
  return kind && cell.outstanding == 1 && cell.compression.empty() && cell.arrays == 1 &&
         cell.split.empty() && cell.ranks >= 2 && h.n() > 0 && h.n() <= kMaxSamples &&
         h.min() >= 0 && h.max() <= kMaxNs &&
         record.measurement.per_rank.size() == static_cast<size_t>(cell.ranks);
}

// Whether anything of it went over the stated link.
bool crosses(const Record& record, const HostsByName& hosts, const std::string& link_kind) {
  const LinkKindRow* kind = find_link_kind(link_kind);
  if (kind == nullptr || !kind->network) return true;
  std::set<std::string> machines;
  for (const PerRank& rank : record.measurement.per_rank) {
    machines.insert(machine_id(*hosts.at(rank.host)));
  }
  return machines.size() > 1;
}

bool is_clean(const Record& record) {
  const Measurement& m = record.measurement;
  const auto count = verified_count(m);
  const bool verified = count ? count->verified > 0 : m.verified;
  return m.outcome == Outcome::kPassed && record.noise.verdict == "clean" && verified &&
         fits_format(record);
}

// Of several launches (`run --repeat`) the last clean one: whether a launch is noisy is decided by
// what happened beside it, not by its times, so this takes no better-looking ones. By cell.
std::map<std::string, const Record*> clean_launches(const std::vector<Record>& records) {
  std::map<std::string, const Record*> out;
  for (const Record& record : records) {
    if (record.launch && is_clean(record))
      out[record.launch->side + canonical_json(record.cell)] = &record;
  }
  return out;
}

// The rows worth publishing, at least one; counts the others. Wrong data ends it.
Expected<std::vector<const Record*>> choose(const std::vector<Record>& records, const View& view,
                                            LeftOut& left_out) {
  std::set<std::string> runs;
  for (const Record& record : records) runs.insert(record.run_id);
  if (runs.size() != 1) {
    return fail(ErrorCode::kConfig, fmt::format("records of {} runs", runs.size()),
                "submit one run at a time");
  }
  const std::map<std::string, const Record*> launches = clean_launches(records);
  std::vector<const Record*> chosen;
  for (const Item& item : view.items) {
    const Record& record = *item.record;
    const Measurement& m = record.measurement;
    if (m.wrong.value_or(0) > 0 || m.outcome == Outcome::kFailed) {
      return fail(ErrorCode::kWrongData, "this run has wrong data: " + describe(record),
                  "find out why before publishing anything");
    }
    if (m.outcome != Outcome::kPassed) {
      ++left_out.skipped;
    } else if (!fits_format(record)) {
      ++left_out.other;
    } else if (is_clean(record)) {
      chosen.push_back(&record);
    } else {
      const auto clean = record.launch
                             ? launches.find(record.launch->side + canonical_json(record.cell))
                             : launches.end();
      if (clean == launches.end()) ++left_out.noisy;
      if (clean != launches.end()) chosen.push_back(clean->second);
    }
  }
  if (chosen.empty()) {
    std::vector<std::string> why;
    for (const auto& [count, what] : {std::pair(left_out.noisy, "noisy"),
                                      {left_out.skipped, "skipped or in error"},
                                      {left_out.other, "of other kinds"}}) {
      if (count > 0) why.push_back(fmt::format("{} {}", count, what));
    }
    return fail(
        ErrorCode::kConfig,
        "no row to publish: " + (why.empty() ? "nothing was measured" : join(why, ", ")),
        "measure on an idle machine with a core for each rank, several times: plumbline run "
        "scenarios/submit.json --repeat 5");
  }
  return chosen;
}

json statement_json(const BundleStatement& statement, Redactor& redactor) {
  for (const std::string& word : statement.kept) redactor.keep(word);
  json hardware = json::array();
  for (const std::string& text : statement.hardware)
    hardware.push_back(redactor.text(text, TextFrom::kTyped));
  json speed = nullptr;
  if (statement.link_speed_bps) speed = *statement.link_speed_bps;
  return {{"link_kind", statement.link_kind},
          {"link_speed_bps", std::move(speed)},
          {"links_per_host", statement.links_per_host},
          {"cable", redactor.text(statement.cable, TextFrom::kTyped)},
          {"hardware", std::move(hardware)},
          {"submitter", statement.submitter},  // who wants to be named is named
          {"notes", redactor.text(statement.notes, TextFrom::kTyped)}};
}

}  // namespace

Status judge_rows(const std::vector<Record>& records) {
  const View view = make_view(records);
  LeftOut left_out;
  const auto chosen = choose(records, view, left_out);
  return chosen ? Status() : fail(chosen.error());
}

Expected<BuiltBundle> build_bundle(const std::vector<Record>& records,
                                   const BundleStatement& statement,
                                   const std::vector<std::string>& shipped, Redactor& redactor) {
  const View view = make_view(records);
  LeftOut left_out;
  const auto chosen = choose(records, view, left_out);
  if (!chosen) return fail(chosen.error());
  const auto hosts = hosts_of(*chosen);
  if (!hosts) return fail(hosts.error());
  const std::map<std::string, std::string> ordinals = number_hosts(*hosts, redactor);
  learn_names(*chosen, redactor);

  const Record& first = *chosen->front();
  json environment = environment_json(first, *hosts, ordinals, redactor);
  json rows = json::array();
  std::set<std::string> seen;
  for (const Record* record : *chosen) {
    json row = row_json(*record, ordinals, redactor);
    // Cells that differ only in what is not published would look like one.
    const std::string key = row["cell"].dump() + row["rank_hosts"].dump() + row["resolved"].dump();
    const bool shown = seen.insert(key).second && crosses(*record, *hosts, statement.link_kind);
    if (!shown) ++left_out.other;
    if (shown) rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    return fail(
        ErrorCode::kConfig,
        "no row's ranks ran on several machines, so nothing went over " + statement.link_kind,
        "state --link-kind loopback or virtual, or measure between machines");
  }
  const bool known = std::find(shipped.begin(), shipped.end(), first.scenario) != shipped.end();
  json content = {
      {"suite_version", first.suite_version},
      {"date", first.time.substr(0, 10)},
      {"statement", statement_json(statement, redactor)},
      {"scenario",
       {{"name", known ? first.scenario : "own"},
        {"seed", first.seed},
        {"left_out",
         {{"noisy", left_out.noisy}, {"skipped", left_out.skipped}, {"other", left_out.other}}}}},
      {"environment", std::move(environment)},
      {"rows", std::move(rows)}};
  BuiltBundle built;
  built.document = std::make_shared<const json>(seal_bundle(std::move(content)));
  for (const std::string& text : redactor.replaced()) built.notes.push_back("replaced: " + text);
  if (left_out.noisy > 0) {
    built.notes.push_back(
        fmt::format("{} noisy rows are left out, and the bundle says so", left_out.noisy));
  }
  return built;
}

}  // namespace plumbline
