// The reader's check of a bundle against its own schema: a small interpreter of the keywords that
// bundle_schema_json() uses, which names the path of whatever does not fit. So the published schema
// cannot say something else than the program; tests/reports holds it against a full validator.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>

#include "core/json.h"
#include "core/options/options.h"
#include "core/text.h"
#include "reports/publish/bundle.h"
#include "reports/publish/bundle_words.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr size_t kMaxIssues = 50;
constexpr size_t kMaxText = 20'000;  // of any text, before a pattern sees it

std::string short_text(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  const std::string text = clean(value.dump());
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

bool is_type(const json& value, const std::string& type) {
  return type == "integer" ? value.is_number_integer() : type == value.type_name();
}

// The library's matcher goes one call deeper with every character.
constexpr size_t kMaxMatched = 2000;

bool matches(const std::string& text, const std::string& pattern) {
  if (text.size() > kMaxMatched) return false;
  static thread_local std::map<std::string, std::regex> compiled;
  auto it = compiled.find(pattern);
  if (it == compiled.end()) it = compiled.emplace(pattern, std::regex(pattern)).first;
  return std::regex_search(text, it->second);
}

class Walk {
 public:
  std::vector<BundleIssue> issues;

  void check(const json& value, const json& schema, const std::string& path) {
    if (issues.size() >= kMaxIssues) return;
    if (!type_fits(value, schema["type"])) {
      const json& type = schema["type"];
      add(path, fmt::format("is {}, must be {}", short_text(value),
                            type.is_array() ? type[0].get<std::string>() + " or null"
                                            : type.get<std::string>()));
      return;
    }
    if (value.is_object()) object(value, schema, path);
    if (value.is_array()) array(value, schema, path);
    if (value.is_string()) text(value.get_ref<const std::string&>(), schema, path);
    if (value.is_number_integer()) number(value, schema, path);
    one_of(value, schema, path);
  }

 private:
  void add(const std::string& path, std::string what) {
    issues.push_back({"schema", path, std::move(what)});
  }
  static bool type_fits(const json& value, const json& type) {
    if (type.is_string()) return is_type(value, type);
    for (const json& one : type) {
      if (is_type(value, one)) return true;
    }
    return false;
  }
  static std::string below(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }

  void object(const json& value, const json& schema, const std::string& path) {
    const json properties = schema.value("properties", json::object());
    const json additional = schema.value("additionalProperties", json(true));
    std::vector<std::string> names;
    for (const auto& item : properties.items()) names.push_back(item.key());
    for (const json& name : schema.value("required", json::array())) {
      const auto key = name.get<std::string>();
      if (!value.contains(key)) add(below(path, key), "is missing");
    }
    const json allowed = schema.value("propertyNames", json::object()).value("enum", json());
    for (const auto& [key, item] : value.items()) {
      const std::string here = below(path, clean(key).substr(0, 60));
      if (properties.contains(key)) {
        check(item, properties[key], here);
      } else if (additional.is_object() && (allowed.is_null() || contains(allowed, key))) {
        check(item, additional, here);
      } else {
        if (!allowed.is_null()) names = allowed.get<std::vector<std::string>>();
        const std::string near = nearest_name(key.substr(0, 60), names);
        add(here,
            "is not a key of a bundle" + (near.empty() ? "" : "; did you mean " + near + "?"));
      }
    }
  }
  static bool contains(const json& list, const std::string& key) {
    return std::find(list.begin(), list.end(), json(key)) != list.end();
  }

  void array(const json& value, const json& schema, const std::string& path) {
    const size_t least = schema.value("minItems", size_t{0}),
                 most = schema.value("maxItems", size_t{SIZE_MAX});
    if (value.size() < least || value.size() > most) {
      add(path, fmt::format("has {} entries, may have {} to {}", value.size(), least, most));
      return;
    }
    for (size_t i = 0; i < value.size(); ++i) {
      check(value[i], schema["items"], fmt::format("{}[{}]", path, i));
    }
  }

  void text(const std::string& value, const json& schema, const std::string& path) {
    const size_t most = std::min(schema.value("maxLength", kMaxText), kMaxText);
    if (characters(value) > most) {
      add(path, fmt::format("has {} characters, may have {}", characters(value), most));
      return;
    }
    const std::string pattern = schema.value("pattern", "");
    if (!pattern.empty() && !matches(value, pattern)) {
      add(path, fmt::format("is {}, must match {}", short_text(value), pattern));
      return;
    }
    const std::string hidden = hidden_in(value);
    if (!hidden.empty()) add(path, hidden);
  }

  // Whole numbers only: the formats of JSON's others differ from writer to writer.
  void number(const json& value, const json& schema, const std::string& path) {
    const bool negative = !value.is_number_unsigned() && value.get<int64_t>() < 0;
    const auto least = schema.value("minimum", INT64_MIN);
    const bool below_least =
        negative ? value.get<int64_t>() < least
                 : least > 0 && value.get<uint64_t>() < static_cast<uint64_t>(least);
    const bool above = schema.contains("maximum") && !negative &&
                       value.get<uint64_t>() > schema["maximum"].get<uint64_t>();
    if (below_least || above) {
      add(path, fmt::format("is {}, may be {} to {}", value.dump(), schema["minimum"].dump(),
                            schema.value("maximum", json("any number")).dump()));
    }
  }

  void one_of(const json& value, const json& schema, const std::string& path) {
    if (schema.contains("const") && value != schema["const"]) {
      add(path, fmt::format("is {}, must be {}", short_text(value), schema["const"].dump()));
    }
    if (!schema.contains("enum")) return;
    const json& list = schema["enum"];
    if (std::find(list.begin(), list.end(), value) != list.end()) return;
    std::vector<std::string> names;
    for (const json& name : list) names.push_back(name.get<std::string>());
    const std::string near =
        value.is_string() ? nearest_name(value.get<std::string>().substr(0, 60), names) : "";
    add(path, fmt::format("is {}, {}", short_text(value),
                          near.empty() ? "must be one of: " + join(names, ", ")
                                       : "did you mean " + near + "?"));
  }
};

}  // namespace

std::vector<BundleIssue> schema_issues(const json& document) {
  static const json kSchema = json::parse(bundle_schema_json());
  Walk walk;
  walk.check(document, kSchema, "");
  return std::move(walk.issues);
}

}  // namespace plumbline
