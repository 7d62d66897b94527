#include "reports/publish/bundle_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/json.h"
#include "core/op.h"
#include "core/options/options.h"
#include "reports/publish/bundle.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr size_t kMaxText = 160;   // of a fact about a host
constexpr size_t kMaxRead = 4096;  // of it as it stands in a record

std::string single_line(Redactor& redactor, const std::string& text, TextFrom from) {
  std::string out = redactor.text(clean(text.substr(0, kMaxRead)), from);
  for (const char c : std::string("<>[]|\\`{}@$^")) std::replace(out.begin(), out.end(), c, ' ');
  return out.size() > kMaxText ? clean(out.substr(0, kMaxText)) : out;
}

// A value that an option may have by its table, such as a transport: that somebody calls a host so
// is chance.
bool is_choice(const std::string& word, const OptionChoices& named) {
  for (const auto& [option, words] : named) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return true;
  }
  for (const OptionRow& row : option_table()) {
    const std::string all = row.choices == nullptr ? "" : fmt::format("|{}|", row.choices);
    if (all.find("|" + word + "|") != std::string::npos) return true;
  }
  return false;
}

json nics_of(const HostFacts& host, Redactor& redactor) {
  std::set<std::string> seen;
  json out = json::array();
  for (const Nic& nic : host.nics) {
    if (!nic.up || !nic.carrier) continue;
    json entry = published_json(nic, redactor);
    if (seen.insert(entry.dump()).second) out.push_back(std::move(entry));
  }
  return out;
}

// The facts that the table allows, and no others.
json host_json(const HostFacts& facts, const std::string& name, const std::string& machine,
               Redactor& redactor) {
  json out = {{"name", name}, {"machine", machine}, {"nics", nics_of(facts, redactor)}};
  for (const Field<HostFacts>& field : FieldsOf<HostFacts>::all()) {
    if (field.publish == nullptr) continue;
    const std::string name_of_it = field.words.name;
    json& value = out[name_of_it];
    field.write(facts, value);
    // Only whoever builds a kernel puts a name of their own into a fact.
    const TextFrom from = name_of_it == "kernel" ? TextFrom::kSystem : TextFrom::kProduct;
    if (value.is_string()) value = single_line(redactor, value, from);
    if (value.is_string() && value.get_ref<const std::string&>().empty()) value = nullptr;
  }
  out["load1_percent"] = nullptr;
  if (facts.load1 && *facts.load1 >= 0 && *facts.load1 < 1e6) {
    out["load1_percent"] = static_cast<uint64_t>(std::llround(*facts.load1 * 100));
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

}  // namespace

const std::string& machine_id(const HostFacts& facts) {
  return facts.boot_id.empty() ? facts.hostname : facts.boot_id;
}

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
    return fail(ErrorCode::kConfig, "the records do not say on which hosts their ranks ran",
                "measure anew");
  }
  if (names.size() != facts.size() && (boots.size() != 1 || boots.count("") > 0)) {
    return fail(
        ErrorCode::kConfig,
        fmt::format("{} hosts have ranks but {} are described, so that they cannot be told apart",
                    names.size(), facts.size()),
        "submit a run in which every host has ranks");
  }
  size_t at = 0;
  for (const std::string& name : names) out[name] = &facts[std::min(at++, facts.size() - 1)];
  return out;
}

json options_json(const std::map<std::string, std::string>& values, const Redactor& redactor) {
  const OptionSet defaults(redactor.words());
  json out = json::object();
  for (const std::string& name : published_options()) {
    const auto it = values.find(name);
    const bool any_word = find_option(name)->type == OptionType::kNamed &&
                          redactor.words().count(name) == 0;  // nobody says what it may be
    if (it == values.end() || any_word) continue;
    const auto checked = defaults.with(name, it->second, "record");
    if (checked) out[name] = checked->values().at(name).value;
  }
  return out;
}

std::string table_word(const std::string& text, Redactor& redactor) {
  const bool fits =
      text.size() <= 40 && std::all_of(text.begin(), text.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
      });
  return fits && (is_choice(text, redactor.words()) || redactor.text(text) == text) ? text
                                                                                    : "unknown";
}

// A parameter says nothing of anybody: it is published where its algorithm is.
std::string table_algorithm(const std::string& text, Redactor& redactor) {
  constexpr size_t kLongest = 192;
  const std::string base = algorithm_base(text);
  const std::string parameter = text.substr(base.size());
  const bool fits = parameter.size() != 1 && parameter.size() <= kLongest + 1 &&
                    parameter.find_first_not_of("0123456789x:-", 1) == std::string::npos;
  const std::string word = table_word(base, redactor);
  return word == base && fits ? word + parameter : word;
}

template <typename Owner>
json published_json(const Owner& owner, Redactor& redactor) {
  json out;
  for (const Field<Owner>& field : FieldsOf<Owner>::all()) {
    if (field.publish == nullptr) continue;
    json& value = out[field.words.name];
    field.write(owner, value);
    if (std::string_view(field.publish) == kPublishedWord) {
      value = table_word(std::string(field.word(owner)), redactor);
    } else if (std::string_view(field.publish) == kPublishedAlgorithm) {
      value = table_algorithm(std::string(field.word(owner)), redactor);
    }
  }
  return out;
}
template json published_json(const Cell& cell, Redactor& redactor);
template json published_json(const Resolved& resolved, Redactor& redactor);

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
  return {{"control", table_word(record.environment.control, redactor)},
          {"auth", table_word(record.environment.auth, redactor)},
          {"options", options_json(options_set(record.environment), redactor)},
          {"hosts", std::move(list)}};
}

}  // namespace plumbline
