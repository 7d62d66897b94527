#include "scenarios/read_expect.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/json.h"
#include "core/record/roof.h"
#include "scenarios/json_text.h"
#include "scenarios/key_table.h"
#include "scenarios/read.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwnKeys[] = {"name", "message", "where", "baseline", "optional", "from"};
constexpr const char* kRuleVersion = "plumbline_rules";

// Fields of a cell whose words are known: those that a key of the matrix takes, and more.
struct KnownWords {
  const char* field;
  const char* key;                // nullptr = only `more`
  std::vector<std::string> more;  // that no matrix asks for by name
};
std::vector<std::string> roof_names() {
  std::vector<std::string> names;
  for (const RoofRow& roof : kRoofTable) names.emplace_back(roof.op);
  return names;
}
const std::vector<KnownWords>& known_words() {
  static const std::vector<KnownWords> kWords = {
      {"kind", "matrix[].kind", {to_string(CellKind::kRoof)}},
      {"op", "matrix[].op", roof_names()},
      {"dtype", "matrix[].dtype", {}},
      {"redop", "matrix[].redop", {"none"}},
      {"algorithm", "matrix[].algorithm", {}},
      {"transport", "matrix[].transport", {}},
      {"sync", "matrix[].sync", {}},
      {"distribution", "matrix[].distribution", {}},
      {"measure", "matrix[].measure", {}},
      {"placement", nullptr, {"out", "in"}},
      {"cache", nullptr, {"cold", "hot"}},
  };
  return kWords;
}

bool begins_with_relation(const std::string& text) {
  return !text.empty() && std::string_view("<>=!").find(text.front()) != std::string_view::npos;
}

class RuleReader {
 public:
  RuleReader(const std::string& prefix, const Vocabulary& vocabulary, Problems& problems)
      : prefix_(prefix), vocabulary_(vocabulary), problems_(problems) {}

  Rule read(const Json& object, const std::string& path) {
    Rule rule;
    rule.name = object.value("name", "");
    rule.message = object.value("message", "");
    rule.baseline = object.value("baseline", "");
    rule.optional = object.value("optional", false);
    rule.origin = object.value("from", "");
    Json kept = object;
    kept.erase("from");
    rule.json = kept.dump();
    if (object.contains("where")) read_where(object["where"], path + ".where", rule);
    for (auto it = object.begin(); it != object.end(); ++it) {
      if (!contains(kOwnKeys, it.key())) {
        read_bound(it.key(), *it, json_path(path, it.key()), rule);
      }
    }
    if (rule.bounds.empty() && !problems_.has(prefix_ + path)) {
      report(path, "expects nothing",
             R"(name a metric and its bound, such as "wrong": 0 (plumbline list metrics))");
    }
    return rule;
  }

 private:
  void report(const std::string& where, std::string message, std::string hint) {
    problems_.add(prefix_ + where, std::move(message), std::move(hint));
  }

  void read_where(const Json& where, const std::string& path, Rule& rule) {
    for (auto it = where.begin(); it != where.end(); ++it) {
      if (it.key() != "config") {
        read_term(it.key(), *it, json_path(path, it.key()), rule);
        continue;
      }
      for (auto option = it->begin(); option != it->end(); ++option) {
        read_term("config." + option.key(), *option, json_path(path + ".config", option.key()),
                  rule);
      }
    }
  }

  void read_term(const std::string& field, const Json& value, const std::string& path, Rule& rule) {
    const std::vector<std::string> fields = filter_field_names();
    const bool config = field.rfind("config.", 0) == 0;
    if (!config && !contains(fields, field)) {
      return report(path, fmt::format("a cell has no field {}", in_quotes(field)),
                    hint_for(field, fields));
    }
    const bool option = config && find_option(field.substr(7)) == nullptr;
    if (option) return report(path, "there is no such option", "`plumbline list options`");
    std::string text;
    if (value.is_array()) {
      for (const Json& each : value) {
        const std::string one = scalar_text(each);
        if (begins_with_relation(one)) {
          return report(path, fmt::format("{} within a list", in_quotes(one)),
                        "a relation stands alone; a range is written \"64Ki..1Mi\"");
        }
        text += (text.empty() ? "=" : ",") + one;
      }
    } else {
      text = scalar_text(value);
      if (!begins_with_relation(text)) text.insert(0, "=");
    }
    std::erase(text, ' ');
    Expected<FilterTerm> term = FilterTerm::parse_unseen(field + text);
    if (!term) return report(path, term.error().what, term.error().hint);
    if (check_words(*term, path)) rule.where.push_back(std::move(*term));
  }

  bool check_words(const FilterTerm& term, const std::string& path) {
    for (const KnownWords& row : known_words()) {
      if (term.field() != row.field) continue;
      std::vector<std::string> known = row.more;
      if (row.key != nullptr) {
        const std::vector<std::string> words = accepted_words(*find_key(row.key), vocabulary_);
        if (words.empty()) return true;  // names of a table that is not there
        known.insert(known.begin(), words.begin(), words.end());
      }
      for (const std::string& word : term.words()) {
        if (contains(known, word)) continue;
        WrongWord wrong{"", hint_for(word, known)};
        if (row.key != nullptr) {
          const auto found = wrong_word(*find_key(row.key), known, word, vocabulary_);
          if (!found) continue;
          wrong = *found;
        }
        report(path,
               wrong.reason.empty() ? fmt::format("unknown {} {}", row.field, in_quotes(word))
                                    : wrong.reason,
               wrong.hint);
        return false;
      }
    }
    return true;
  }

  void read_bound(const std::string& metric, const Json& value, const std::string& path,
                  Rule& rule) {
    std::optional<MetricUnit> unit;
    if (!vocabulary_.metrics.empty()) {
      std::vector<std::string> names(std::begin(kOwnKeys), std::end(kOwnKeys));
      for (const Descriptor& row : vocabulary_.metrics) {
        names.push_back(row.name);
        if (row.name == metric) unit = metric_unit_from(row.group);
      }
      if (!unit) {
        return report(path, fmt::format("unknown metric {}", in_quotes(metric)),
                      hint_for(metric, names));
      }
    }
    std::string text;
    if (value.is_array()) {
      for (const Json& each : value) text += (text.empty() ? "" : ",") + scalar_text(each);
    } else {
      text = scalar_text(value);
    }
    Expected<RuleBound> bound = parse_bound(metric, unit, text);
    if (!bound) return report(path, bound.error().what, bound.error().hint);
    rule.bounds.push_back(std::move(*bound));
  }

  const std::string prefix_;
  const Vocabulary& vocabulary_;
  Problems& problems_;
};

// The keys that a rule file has beside nothing else.
void check_keys(Json& root, const std::string& prefix, Problems& problems) {
  std::vector<std::string> unknown;
  for (auto it = root.begin(); it != root.end(); ++it) {
    if (it.key() == "expect" || it.key() == kRuleVersion) continue;
    unknown.push_back(it.key());
    problems.add(prefix + json_path("$", it.key()), "unknown key " + in_quotes(it.key()),
                 hint_for(it.key(), {"expect", kRuleVersion}));
  }
  for (const std::string& key : unknown) root.erase(key);
  const bool version = root.contains(kRuleVersion);
  if (!version || !root[kRuleVersion].is_number_integer() || root[kRuleVersion] != 1) {
    problems.add(prefix + "$",
                 version ? "plumbline_rules is not 1" : "key 'plumbline_rules' is missing",
                 R"(a rule file is {"plumbline_rules": 1, "expect": [...]})");
  }
  if (!root.contains("expect")) {
    problems.add(prefix + "$", "key 'expect' is missing", "it is the list of the rules");
  }
}

}  // namespace

std::vector<Rule> read_expect(const Json& list, const std::string& file, const std::string& prefix,
                              const Vocabulary& vocabulary, Problems& problems) {
  std::vector<Rule> rules;
  RuleReader reader(prefix, vocabulary, problems);
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_object()) continue;  // reported with the shapes
    const std::string path = json_path("$.expect", i);
    Rule rule = reader.read(list[i], path);
    rule.place = prefix + path;
    if (rule.origin.empty()) rule.origin = fs::path(file).filename().string() + " " + path;
    rules.push_back(std::move(rule));
  }
  return rules;
}

void find_baselines_from(Json& root, const std::string& file) {
  if (!root.contains("expect") || !root["expect"].is_array()) return;
  for (Json& rule : root["expect"]) {
    if (!rule.is_object() || !rule.contains("baseline")) continue;
    const fs::path target = rule["baseline"].get<std::string>();
    rule["baseline"] = fs::absolute(fs::path(file).parent_path() / target).lexically_normal();
  }
}

OrProblems<std::vector<Rule>> load_rules(const std::string& path, const Vocabulary& vocabulary) {
  Problems problems;
  const std::string prefix = path + ": ";
  const auto text = read_scenario_text(path, path, problems);
  auto root = text ? parse_json_text(*text, path, problems) : std::nullopt;
  std::vector<Rule> rules;
  if (root && !root->is_object()) {
    problems.add(prefix + "$", "is no rule file",
                 R"(a rule file is {"plumbline_rules": 1, "expect": [...]})");
  } else if (root) {
    check_keys(*root, prefix, problems);
    if (root->contains("expect")) {
      Problems shapes;
      check_shape_of(*root, "expect", "expect", vocabulary, shapes);
      problems.add_all(shapes.take(), [&](const std::string& at) { return prefix + at; });
    }
    find_baselines_from(*root, path);
    if (root->contains("expect")) {
      rules = read_expect((*root)["expect"], path, prefix, vocabulary, problems);
    }
  }
  const TextPlaces places = text ? TextPlaces(path, *text) : TextPlaces();
  if (!problems.empty()) return tl::unexpected(places.located(problems.take()));
  for (Rule& rule : rules) rule.place = places.located(rule.place);
  return rules;
}

RuleCover cover_of(const Rule& rule, const Plan& plan, MetricApplies applies) {
  RuleCover cover;
  for (const PlanCell& planned : plan.cells) {
    if (!covers(rule, planned.cell)) continue;
    ++cover.cells;
    cover.skipped += planned.skip.empty() ? 0 : 1;
    for (const RuleBound& bound : rule.bounds) cover.asked |= applies(bound.metric, planned.cell);
  }
  return cover;
}

}  // namespace plumbline
