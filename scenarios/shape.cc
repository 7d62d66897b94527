#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/json.h"
#include "core/units.h"
#include "scenarios/json_text.h"
#include "scenarios/key_table.h"
#include "scenarios/read.h"

namespace plumbline {
namespace {

// What a value is, in words. Lists and objects are not printed: they may be large.
std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return value.empty() ? "an empty list" : "a list";
  if (value.is_string()) return "the text " + in_quotes(value.get_ref<const std::string&>());
  return value.dump();
}

std::string number_text(double value) {
  return value == std::floor(value) && value < 1e15 ? fmt::format("{:.0f}", value)
                                                    : fmt::format("{}", value);
}

std::string range_text(const KeyRow& row) {
  return fmt::format("{} to {}", number_text(row.min), number_text(row.max));
}

// "a whole number from 1 to 4096, or a list of those".
std::string expectation(const KeyRow& row) {
  const auto words_for = [&row](unsigned mask) {
    std::vector<std::string> parts;
    if ((mask & kInt) != 0) parts.push_back("a whole number from " + range_text(row));
    if ((mask & kReal) != 0) parts.push_back("a number from " + range_text(row));
    if ((mask & kSize) != 0) parts.emplace_back("a size such as 64 or \"64Ki\"");
    if ((mask & kDuration) != 0) parts.emplace_back("a duration such as \"2s\"");
    if ((mask & kBool) != 0) parts.emplace_back("true or false");
    if ((mask & kText) != 0) {
      const bool one_word = row.words != nullptr && (mask & kInt) != 0;
      parts.push_back(one_word ? fmt::format("\"{}\"", row.words) : "text");
    }
    if ((mask & kScalar) != 0) parts.emplace_back("text, a number, true or false");
    if ((mask & kObject) != 0) parts.emplace_back("an object");
    if ((mask & kTexts) != 0) parts.emplace_back("a list of texts");
    if ((mask & kNull) != 0) parts.emplace_back("null");
    return fmt::format("{}", fmt::join(parts, " or "));
  };
  if (row.each == 0) return words_for(row.one);
  if (row.one == 0) return "a list, each element " + words_for(row.each);
  if (row.one == row.each) return words_for(row.one) + ", or a list of those";
  return words_for(row.one) + ", or a list, each element " + words_for(row.each);
}

bool is_whole(const Json& value) {
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  return std::isfinite(number) && number == std::floor(number);
}

class ShapeWalk {
 public:
  ShapeWalk(std::string file, const Vocabulary& vocabulary, Problems& problems)
      : prefix_(file.empty() ? "" : file + ": "), vocabulary_(vocabulary), problems_(problems) {}

  // Each of these reports what is wrong and says whether the value may stay.
  bool object(Json& value, const std::string& table_prefix, const std::string& where) {
    // Of an object with a key that belongs to a part which is not there, nothing else is of use.
    if (has_refused_key(value, table_prefix, where)) return false;
    std::vector<std::string> bad;
    for (auto it = value.begin(); it != value.end(); ++it) {
      if (!key(it.value(), it.key(), table_prefix, where)) bad.push_back(it.key());
    }
    for (const KeyRow* row : keys_within(table_prefix)) {
      const std::string name = std::string(row->path).substr(table_prefix.size());
      if (row->required && !value.contains(name)) {
        report(where, fmt::format("key '{}' is missing", name), "it is " + expectation(*row));
      }
    }
    for (const std::string& name : bad) value.erase(name);
    return true;
  }

  bool value(Json& value, const KeyRow& row, const std::string& table_path,
             const std::string& where) {
    if (!value.is_array()) return single(value, row, row.one, table_path, where);
    if (row.each == 0) return refuse(value, row, where);
    if (value.empty() && !may_be_empty(row)) {
      return report(where, "is an empty list", "name at least one, or leave the key out");
    }
    if (value.size() > kMaxListLength) {
      return report(where, fmt::format("has {} elements", value.size()),
                    fmt::format("at most {} are accepted", kMaxListLength));
    }
    bool sound = true;
    for (size_t i = 0; i < value.size(); ++i) {
      if (single(value[i], row, row.each, table_path + "[]", json_path(where, i))) continue;
      value[i] = nullptr;
      sound = false;
    }
    // A list of objects keeps its places, so that later paths count right; others go as a whole.
    return sound || (row.each & kObject) != 0;
  }

 private:
  bool report(const std::string& where, std::string message, std::string hint) {
    problems_.add(prefix_ + where, std::move(message), std::move(hint));
    return false;
  }

  bool refuse(const Json& value, const KeyRow& row, const std::string& where) {
    return report(where, "is " + shown(value), "expected " + expectation(row));
  }

  bool has_refused_key(const Json& object, const std::string& table_prefix,
                       const std::string& where) {
    bool found = false;
    for (auto it = object.begin(); it != object.end(); ++it) {
      for (const RefusedKeyRow& row : refused_key_table()) {
        if (table_prefix + it.key() != row.path) continue;
        report(json_path(where, it.key()), fmt::format("'{}' {}", it.key(), row.reason), "");
        found = true;
      }
    }
    return found;
  }

  bool key(Json& value, const std::string& name, const std::string& table_prefix,
           const std::string& where) {
    const std::string path = table_prefix + name, here = json_path(where, name);
    const KeyRow* row = find_key(path);
    // A dot or bracket in a key must not reach into another object's rows.
    const bool reaches = name.find_first_of(".[]*") != std::string::npos;
    const bool open = row != nullptr && std::string_view(row->path).back() == '*';
    if (row == nullptr || name.empty() || (reaches && !open)) {
      std::vector<std::string> names;
      for (const KeyRow* sibling : keys_within(table_prefix)) {
        names.push_back(std::string(sibling->path).substr(table_prefix.size()));
      }
      return report(here, fmt::format("unknown key {}", in_quotes(name)), hint_for(name, names));
    }
    return this->value(value, *row, row->path, here);
  }

  bool single(Json& value, const KeyRow& row, unsigned mask, const std::string& table_path,
              const std::string& where) {
    if (value.is_object() && (mask & kObject) != 0) return object(value, table_path + ".", where);
    if (value.is_boolean() && (mask & (kBool | kScalar)) != 0) return true;
    if (value.is_null() && (mask & kNull) != 0) return true;
    if (value.is_array() && (mask & kTexts) != 0) return list_of_texts(value, row, where);
    if (value.is_string()) return text(value, row, mask, where);
    if (value.is_number()) return number(value, row, mask, where);
    return refuse(value, row, where);
  }

  bool list_of_texts(const Json& value, const KeyRow& row, const std::string& where) {
    const bool sound =
        !value.empty() && value.size() <= kMaxListLength &&
        std::all_of(value.begin(), value.end(), [](const Json& text) { return text.is_string(); });
    return sound || refuse(value, row, where);
  }

  bool text(const Json& value, const KeyRow& row, unsigned mask, const std::string& where) {
    const auto& content = value.get_ref<const std::string&>();
    if ((mask & kScalar) != 0) return true;
    if ((mask & kSize) != 0) {
      const auto size = parse_bytes(content);
      if (!size) return report(where, size.error().what, size.error().hint);
      return in_range(static_cast<double>(*size), in_quotes(content), row, where);
    }
    if ((mask & kDuration) != 0) {
      const auto ns = parse_duration(content);
      if (!ns) return report(where, ns.error().what, ns.error().hint);
      constexpr int64_t kLongest = 24 * 3600 * int64_t{1'000'000'000};
      if (*ns > 0 && *ns <= kLongest) return true;
      return report(where, fmt::format("is {}", in_quotes(content)),
                    "expected a duration above 0, at most 24h");
    }
    if ((mask & kText) == 0) return refuse(value, row, where);
    const std::vector<std::string> words = accepted_words(row, vocabulary_);
    if (words.empty()) return true;
    const std::optional<WrongWord> wrong = wrong_word(row, words, content, vocabulary_);
    if (!wrong) return true;
    return report(where,
                  wrong->reason.empty()
                      ? fmt::format("unknown {} {}", class_name(row), in_quotes(content))
                      : wrong->reason,
                  wrong->hint);
  }

  bool number(const Json& value, const KeyRow& row, unsigned mask, const std::string& where) {
    if ((mask & kScalar) != 0) return true;
    if ((mask & (kInt | kSize)) != 0 && is_whole(value)) {
      return in_range(value.get<double>(), value.dump(), row, where);
    }
    if ((mask & kReal) != 0) return in_range(value.get<double>(), value.dump(), row, where);
    return refuse(value, row, where);
  }

  bool in_range(double number, const std::string& written, const KeyRow& row,
                const std::string& where) {
    if (number >= row.min && number <= row.max) return true;
    return report(where, fmt::format("is {}", written),
                  fmt::format("accepted is {}", range_text(row)));
  }

  // "@dtype" -> "dtype", "matrix[].kind" -> "kind".
  static std::string class_name(const KeyRow& row) {
    const std::string_view words = row.words;
    if (words.front() == '@') return std::string(words.substr(1));
    const std::string_view path = row.path;
    return std::string(path.substr(path.rfind('.') + 1));
  }

  std::string prefix_;
  const Vocabulary& vocabulary_;
  Problems& problems_;
};

// [] in the cell of the host itself is as good as null.
void null_diagonal(Json& hosts) {
  for (size_t i = 0; hosts.is_array() && i < hosts.size(); ++i) {
    if (!hosts[i].is_object() || !hosts[i].contains("rdma")) continue;
    Json& row = hosts[i]["rdma"];
    if (row.is_array() && i < row.size() && row[i].is_array() && row[i].empty()) row[i] = nullptr;
  }
}

}  // namespace

void check_shape(Json& root, const std::string& file, const Vocabulary& vocabulary,
                 Problems& problems) {
  ShapeWalk walk(file, vocabulary, problems);
  if (root.is_object()) {
    if (root.contains("hosts")) null_diagonal(root["hosts"]);
    walk.object(root, "", "$");
    return;
  }
  problems.add((file.empty() ? "" : file + ": ") + std::string("$"), "is " + shown(root),
               "a scenario is an object: {\"plumbline\": 1, ...}");
  root = Json::object();
}

void check_shape_of(Json& parent, const std::string& key, const std::string& table_path,
                    const Vocabulary& vocabulary, Problems& problems) {
  ShapeWalk walk("", vocabulary, problems);
  if (key == "hosts") null_diagonal(parent[key]);
  const KeyRow* row = find_key(table_path);
  if (!walk.value(parent[key], *row, row->path, json_path("$", key))) parent.erase(key);
}

uint64_t whole_number(const Json& value) {
  return value.is_number_float() ? static_cast<uint64_t>(value.get<double>())
                                 : value.get<uint64_t>();
}

}  // namespace plumbline
