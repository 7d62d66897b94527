#include "core/options/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "core/text.h"

extern char** environ;

namespace plumbline {
namespace {

constexpr std::string_view kOwnPrefix = "PLUMBLINE_", kMcclPrefix = "MCCL_";
// Variables of ours that are no options: where the run token lies, where rank 0 is, and which rank
// of which world a launcher made of this process.
constexpr std::string_view kOtherVariables[] = {
    "PLUMBLINE_TOKEN_FILE", "PLUMBLINE_MASTER_ADDR",      "PLUMBLINE_RANK",  "PLUMBLINE_WORLD_SIZE",
    "PLUMBLINE_LOCAL_RANK", "PLUMBLINE_LOCAL_WORLD_SIZE", "PLUMBLINE_RUN_ID"};
constexpr const char* kDefaultOrigin = "default";

bool is_other_variable(std::string_view name) {
  return std::find(std::begin(kOtherVariables), std::end(kOtherVariables), name) !=
         std::end(kOtherVariables);
}

// Where a value came from, as a message names it: "--mesh", "config.mesh", "PLUMBLINE_MESH".
struct Place {
  std::string shown, origin;
  ErrorCode code;
};

Place flag_place(const std::string& name) {
  std::string flag = name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return {"--" + flag, "flag", ErrorCode::kUsage};
}
Place scenario_place(const std::string& name) {
  return {"config." + name, "scenario", ErrorCode::kConfig};
}
Place variable_place(const std::string& variable) {
  return {variable, "env " + variable, ErrorCode::kConfig};
}

Error unknown_name(const Place& place, const std::string& near_to) {
  return {place.code, place.shown + ": no such option", 0,
          near_to.empty() ? "`plumbline config` lists all options"
                          : fmt::format("did you mean {}?", near_to),
          ""};
}

Error refused_name(const Place& place, const OptionRow& row) {
  return {place.code, fmt::format("{}: not available here: {}", place.shown, row.refused), 0,
          "remove it", ""};
}

// Values of unknown origin are cut before they are shown: they may be long, or binary.
std::string shown_value(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, 60)) {
    out += std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?';
  }
  return text.size() > 60 ? out + "..." : out;
}

Error bad_value(const Place& place, const OptionRow& row, const std::string& text,
                const OptionChoices& choices) {
  return {place.code, fmt::format("{} = '{}': not accepted", place.shown, shown_value(text)), 0,
          accepted_option(row, text, choices), ""};
}

std::vector<std::string> settable_names() {
  std::vector<std::string> names;
  for (const OptionRow& row : option_table()) {
    if (row.refused == nullptr) names.emplace_back(row.name);
  }
  return names;
}

[[noreturn]] void misuse(std::string_view name, const char* what) {
  fmt::print(stderr, "plumbline: option '{}' {}\n", name, what);
  std::abort();
}

// Names in one map of name -> text that nobody can set.
void check_names(const std::map<std::string, std::string>& values,
                 Place (*place)(const std::string&), std::vector<Error>& problems) {
  for (const auto& [name, text] : values) {
    const OptionRow* row = find_option(name);
    if (row == nullptr) {
      const std::string near_to = nearest_name(name, settable_names());
      problems.push_back(unknown_name(place(name), near_to.empty() ? "" : place(near_to).shown));
    } else if (row->refused != nullptr) {
      problems.push_back(refused_name(place(name), *row));
    }
  }
}

void check_environment(const std::map<std::string, std::string>& environment,
                       std::vector<Error>& problems) {
  std::map<std::string, const OptionRow*> known;
  std::vector<std::string> settable;
  for (const OptionRow& row : option_table()) {
    known[option_variable(row.name)] = &row;
    if (row.mccl_alias != nullptr) known[row.mccl_alias] = &row;
    if (row.refused == nullptr) settable.push_back(option_variable(row.name));
  }
  for (const auto& [variable, text] : environment) {
    if (text.empty() || is_other_variable(variable)) continue;
    const auto found = known.find(variable);
    if (found != known.end()) {
      if (found->second->refused == nullptr) continue;
      problems.push_back(refused_name(variable_place(variable), *found->second));
    } else if (std::string_view(variable).substr(0, kOwnPrefix.size()) == kOwnPrefix) {
      problems.push_back(unknown_name(variable_place(variable), nearest_name(variable, settable)));
    }
  }
}

// The value of highest precedence for this row, and its place.
std::optional<std::pair<Place, std::string>> winner(const OptionRow& row,
                                                    const OptionSources& sources) {
  if (const auto it = sources.flags.find(row.name); it != sources.flags.end()) {
    return std::pair{flag_place(row.name), it->second};
  }
  if (const auto it = sources.scenario.find(row.name); it != sources.scenario.end()) {
    return std::pair{scenario_place(row.name), it->second};
  }
  std::vector<std::string> variables = {option_variable(row.name)};
  if (row.mccl_alias != nullptr) variables.emplace_back(row.mccl_alias);
  for (const std::string& variable : variables) {
    const auto it = sources.environment.find(variable);
    if (it != sources.environment.end() && !it->second.empty()) {
      return std::pair{variable_place(variable), it->second};
    }
  }
  return std::nullopt;
}

using Values = std::map<std::string, OptionValue, std::less<>>;

void set_default(Values& values, const OptionRow& row) {
  values[row.name] = {canonical_option(row, row.default_value).value_or(row.default_value),
                      kDefaultOrigin};
}

// Gives the rows that nobody has set the values of the link profile in force.
void apply_link_profile(Values& values) {
  const std::string profile = values.at("link_profile").value;
  for (const LinkProfileRow& row : link_profile_table()) {
    OptionValue& value = values.find(row.option)->second;
    if (profile == row.profile && value.origin == kDefaultOrigin) {
      value = {row.value, "link profile " + profile};
    }
  }
}

}  // namespace

std::string option_variable(std::string_view name) {
  std::string out(kOwnPrefix);
  for (const char c : name) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::map<std::string, std::string> read_option_environment() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    const bool ours = name.substr(0, kOwnPrefix.size()) == kOwnPrefix ||
                      name.substr(0, kMcclPrefix.size()) == kMcclPrefix;
    if (ours && !is_other_variable(name)) out[std::string(name)] = text.substr(equals + 1);
  }
  return out;
}

OptionSet::OptionSet(OptionChoices choices) : choices_(std::move(choices)) {
  for (const OptionRow& row : option_table()) {
    if (row.refused == nullptr) set_default(values_, row);
  }
}

tl::expected<OptionSet, std::vector<Error>> OptionSet::resolve(const OptionSources& sources) {
  std::vector<Error> problems;
  check_names(sources.flags, flag_place, problems);
  check_names(sources.scenario, scenario_place, problems);
  check_environment(sources.environment, problems);

  OptionSet set(sources.choices);
  for (const OptionRow& row : option_table()) {
    if (row.refused != nullptr) continue;
    const auto given = winner(row, sources);
    if (!given) continue;
    const auto& [place, text] = *given;
    if (auto value = canonical_option(row, text, sources.choices)) {
      set.values_[row.name] = {*value, place.origin};
    } else {
      problems.push_back(bad_value(place, row, text, sources.choices));
    }
  }
  apply_link_profile(set.values_);
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return set;
}

const OptionValue& OptionSet::at(std::string_view name) const {
  const auto it = values_.find(name);
  if (it == values_.end()) misuse(name, "is not in the table");
  return it->second;
}

int64_t OptionSet::integer(std::string_view name) const {
  const std::string& value = text(name);
  if (!is_whole_number(find_option(name)->type)) misuse(name, "is no whole number");
  return option_integer(*find_option(name), value);
}

bool OptionSet::flag(std::string_view name) const {
  const std::string& value = text(name);
  if (find_option(name)->type != OptionType::kBool) misuse(name, "is not on or off");
  return value == "on";
}

Expected<OptionSet> OptionSet::with(const std::string& name, const std::string& value,
                                    const std::string& origin) const {
  const Place place = {name, origin, ErrorCode::kConfig};
  const OptionRow* row = find_option(name);
  if (row == nullptr) {
    return fail(unknown_name(place, nearest_name(name, settable_names())));
  }
  if (row->refused != nullptr) return fail(refused_name(place, *row));
  const auto spelled = canonical_option(*row, value, choices_);
  if (!spelled) return fail(bad_value(place, *row, value, choices_));

  OptionSet changed = *this;
  changed.values_[name] = {*spelled, origin};
  if (name == "link_profile") {
    for (const OptionRow& other : option_table()) {
      const auto it = changed.values_.find(other.name);
      if (it != changed.values_.end() && it->second.origin.rfind("link profile ", 0) == 0) {
        set_default(changed.values_, other);
      }
    }
    apply_link_profile(changed.values_);
  }
  return changed;
}

std::map<std::string, OptionValue> OptionSet::values() const {
  return {values_.begin(), values_.end()};
}

std::string OptionSet::config_text() const {
  std::string out;
  for (const auto& [name, value] : values_) {
    if (find_option(name)->must_agree) out += name + "=" + value.value + "\n";
  }
  return out;
}

}  // namespace plumbline
