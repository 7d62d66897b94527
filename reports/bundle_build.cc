#include "reports/bundle_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/options.h"
#include "reports/bundle_derive.h"
#include "reports/bundle_fields.h"
#include "reports/link_kinds.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxSamples = 10'000'000;
constexpr int64_t kMaxNs = 60'000'000'000;
constexpr size_t kMaxText = 160;  // of a fact about a host

struct LeftOut {
  uint64_t noisy = 0, skipped = 0, other = 0;
};

// Facts by the name that ranks and rows know a host by.
using HostsByName = std::map<std::string, const HostFacts*>;

Error refusal(std::string what, std::string hint) {
  return Error{ErrorCode::kConfig, std::move(what), 0, std::move(hint), ""};
}

// Hosts of a lab of namespaces are one machine: they share its boot.
const std::string& machine_id(const HostFacts& facts) {
  return facts.boot_id.empty() ? facts.hostname : facts.boot_id;
}

std::string single_line(Redactor& redactor, const std::string& text) {
  std::string out = redactor.text(clean(text));
  for (const char c : std::string("<>[]|\\`{}@$^~")) std::replace(out.begin(), out.end(), c, ' ');
  return out.size() > kMaxText ? clean(out.substr(0, kMaxText)) : out;
}

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

// The hosts of the run: ranks know them by the scenario's names, in whose order the facts stand.
Expected<HostsByName> hosts_of(const std::vector<const Record*>& records) {
  std::set<std::string> names;
  const Record* most = records.front();
  for (const Record* record : records) {
    for (const PerRank& rank : record->measurement.per_rank) names.insert(rank.host);
    if (record->environment.hosts.size() > most->environment.hosts.size()) most = record;
  }
  const std::vector<HostFacts>& facts = most->environment.hosts;
  std::set<std::string> boots;
  for (const HostFacts& host : facts) boots.insert(host.boot_id);
  HostsByName out;
  if (names.empty() || facts.empty()) {
    return fail(refusal("the records do not say on which hosts their ranks ran", "measure anew"));
  }
  if (names.size() != facts.size() && (boots.size() != 1 || boots.count("") > 0)) {
    return fail(refusal(fmt::format("{} hosts have ranks but {} are described, so that they cannot "
                                    "be told apart",
                                    names.size(), facts.size()),
                        "submit a run in which every host has ranks"));
  }
  size_t at = 0;
  for (const std::string& name : names) out[name] = &facts[std::min(at++, facts.size() - 1)];
  return out;
}

json nics_of(const HostFacts& host) {
  std::set<std::string> seen;
  json out = json::array();
  for (const Nic& nic : host.nics) {
    if (!nic.up || !nic.carrier) continue;
    json entry = {{"kind", nic.kind}, {"mtu", nic.mtu}, {"speed_bps", nullptr}};
    if (nic.speed_bps) entry["speed_bps"] = *nic.speed_bps;
    if (seen.insert(entry.dump()).second) out.push_back(std::move(entry));
  }
  return out;
}

// The facts that the table allows, and no others.
json host_json(const HostFacts& facts, const std::string& name, const std::string& machine,
               Redactor& redactor) {
  const json all = facts;
  json out = {{"name", name}, {"machine", machine}, {"nics", nics_of(facts)}};
  for (const std::string& field : published_host_facts()) {
    const json value = all.value(field, json());
    out[field] = value.is_string() ? json(single_line(redactor, value)) : value;
    if (out[field].is_string() && out[field].get_ref<const std::string&>().empty())
      out[field] = nullptr;
  }
  out["load1_percent"] = nullptr;
  if (facts.load1 && *facts.load1 >= 0 && *facts.load1 < 1e6) {
    out["load1_percent"] = static_cast<uint64_t>(std::llround(*facts.load1 * 100));
  }
  return out;
}

// Options whose values are numbers or words of a closed list, as the option table reads them.
json options_json(const std::map<std::string, std::string>& values) {
  const OptionSet defaults;
  json out = json::object();
  for (const std::string& name : published_options()) {
    const auto it = values.find(name);
    if (it == values.end()) continue;
    const auto checked = defaults.with(name, it->second, "record");
    if (checked) out[name] = checked->values().at(name).value;
  }
  return out;
}

std::map<std::string, std::string> options_set(const Environment& environment) {
  std::map<std::string, std::string> out;
  for (const auto& [name, option] : environment.options) {
    if (option.origin != "default") out[name] = option.value;
  }
  return out;
}

// A word of our own tables; whatever else stands there is not published.
std::string table_word(const std::string& text) {
  const bool fits =
      text.size() <= 40 && std::all_of(text.begin(), text.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
      });
  return fits ? text : "unknown";
}

json cell_json(const Cell& cell, Redactor& redactor) {
  const auto word = [&](const std::string& text) { return table_word(redactor.text(text)); };
  return {{"kind", cell.kind},
          {"op", cell.op},
          {"engine", word(cell.engine)},
          {"transport", word(cell.transport)},
          {"algorithm", word(cell.algorithm)},
          {"dtype", cell.dtype},
          {"redop", cell.redop},
          {"root", cell.root},
          {"ranks", cell.ranks},
          {"bytes", cell.bytes},
          {"count", cell.count},
          {"placement", cell.placement},
          {"sync", cell.sync},
          {"cache", cell.cache},
          {"outstanding", cell.outstanding},
          {"repeat", cell.repeat},
          {"params", options_json(cell.params)}};
}

json row_json(const Record& record, const std::map<std::string, std::string>& ordinals,
              Redactor& redactor) {
  const Measurement& m = record.measurement;
  const auto word = [&](const std::string& text) { return table_word(redactor.text(text)); };
  json hosts = json::array();
  bool pinned = !m.per_rank.empty();
  for (const PerRank& rank : m.per_rank) {
    hosts.push_back(ordinals.at(rank.host));
    pinned = pinned && rank.cpu >= 0;
  }
  const auto switches = m.extra.find(kInvoluntarySwitches);
  const double lost = switches == m.extra.end() ? 0 : switches->second;
  return {{"cell", cell_json(record.cell, redactor)},
          {"resolved",
           {{"transport", word(m.resolved.transport)},
            {"algorithm", word(m.resolved.algorithm)},
            {"congestion_control", word(m.resolved.congestion_control)},
            {"kernel", word(m.resolved.kernel)},
            {"chunk_bytes", m.resolved.chunk_bytes},
            {"streams", std::max(0, m.resolved.streams)}}},
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
}

bool fits_format(const Record& record) {
  const Histogram& h = record.measurement.hist;
  const Cell& cell = record.cell;
  const bool kind = cell.kind == "latency" || cell.kind == "bandwidth";
  return kind && cell.outstanding == 1 && cell.ranks >= 2 && h.n() > 0 && h.n() <= kMaxSamples &&
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

// The rows worth publishing; counts the others. Wrong data ends it.
Expected<std::vector<const Record*>> choose(const View& view, LeftOut& left_out) {
  std::vector<const Record*> chosen;
  for (const Item& item : view.items) {
    const Record& record = *item.record;
    const Measurement& m = record.measurement;
    if (m.wrong.value_or(0) > 0 || m.outcome == Outcome::kFailed) {
      return fail(Error{ErrorCode::kWrongData, "this run has wrong data: " + describe(record), 0,
                        "find out why before publishing anything", ""});
    }
    if (m.outcome != Outcome::kPassed) {
      ++left_out.skipped;
    } else if (!fits_format(record)) {
      ++left_out.other;
    } else if (record.noise.verdict != "clean" || !m.verified) {
      ++left_out.noisy;
    } else {
      chosen.push_back(&record);
    }
  }
  return chosen;
}

json statement_json(const BundleStatement& statement, Redactor& redactor) {
  json hardware = json::array();
  for (const std::string& text : statement.hardware) hardware.push_back(redactor.text(text, true));
  json speed = nullptr;
  if (statement.link_speed_bps) speed = *statement.link_speed_bps;
  return {{"link_kind", statement.link_kind},
          {"link_speed_bps", std::move(speed)},
          {"links_per_host", statement.links_per_host},
          {"cable", redactor.text(statement.cable, true)},
          {"hardware", std::move(hardware)},
          {"submitter", statement.submitter},  // who wants to be named is named
          {"notes", redactor.text(statement.notes, true)}};
}

// host1, host2 ... before any text is read, so that texts speak of the same ones.
std::map<std::string, std::string> number_hosts(const HostsByName& hosts, Redactor& redactor) {
  std::map<std::string, int> users;  // of a system's own name
  for (const auto& [name, facts] : hosts) ++users[facts->hostname];
  std::map<std::string, std::string> ordinals;
  for (const auto& [name, facts] : hosts) {
    ordinals[name] = redactor.host(name);
    if (users[facts->hostname] == 1) redactor.learn_host(facts->hostname, name);
  }
  return ordinals;
}

json environment_json(const Record& record, const HostsByName& hosts,
                      const std::map<std::string, std::string>& ordinals, Redactor& redactor) {
  json list = json::array();
  std::map<std::string, std::string> machines;
  for (const auto& [name, facts] : hosts) {
    const std::string& ordinal = ordinals.at(name);
    const auto machine =
        machines.emplace(machine_id(*facts), fmt::format("machine{}", machines.size() + 1)).first;
    list.push_back(host_json(*facts, ordinal, machine->second, redactor));
  }
  return {{"control", table_word(record.environment.control)},
          {"auth", table_word(record.environment.auth)},
          {"options", options_json(options_set(record.environment))},
          {"hosts", std::move(list)}};
}

}  // namespace

Expected<BuiltBundle> build_bundle(const std::vector<Record>& records,
                                   const BundleStatement& statement,
                                   const std::vector<std::string>& shipped, Redactor& redactor) {
  std::set<std::string> runs;
  for (const Record& record : records) runs.insert(record.run_id);
  if (runs.size() != 1) {
    return fail(
        refusal(fmt::format("records of {} runs", runs.size()), "submit one run at a time"));
  }
  const View view = make_view(records);
  LeftOut left_out;
  const auto chosen = choose(view, left_out);
  if (!chosen) return fail(chosen.error());
  if (chosen->empty()) {
    return fail(refusal(
        fmt::format("no row to publish: {} noisy, {} skipped or in error, {} of other kinds",
                    left_out.noisy, left_out.skipped, left_out.other),
        "measure on an idle machine with a core for each rank: plumbline run "
        "scenarios/submit.json"));
  }
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
    return fail(refusal(
        "no row's ranks ran on several machines, so nothing went over " + statement.link_kind,
        "state --link-kind loopback or virtual, or measure between machines"));
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
