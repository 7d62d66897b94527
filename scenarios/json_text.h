// The text of a scenario and what is wrong with it. From a file to a JSON value: reading with a
// size limit, UTF-8 check, parsing with comments allowed and duplicate keys refused. The list of
// problems, which grows to a bound only, so that a hostile or machine-made file cannot flood the
// terminal; and from the place of a problem within the value ("$.matrix[0].op", "inc.json:
// $.hosts") to the line of the file in which a person wrote it: "smoke.json:12:5: $.matrix[0].op",
// counted in bytes from 1. Reading is thread-safe, the list is not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json_scan.h"
#include "core/text.h"  // for whoever reports a problem
#include "scenarios/scenario.h"

namespace plumbline {

// What the rows of a table are called, for hint_for().
template <typename Rows>
std::vector<std::string> row_names(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}
template <typename Values, typename Value>
bool contains(const Values& values, const Value& value) {
  return std::find(std::begin(values), std::end(values), value) != std::end(values);
}

inline constexpr size_t kMaxProblems = 50;

class Problems {
 public:
  void add(std::string where, std::string message, std::string hint = {});
  // Those of others; `place` makes of where they are what is reported.
  template <typename Place>
  void add_all(std::vector<ScenarioProblem> others, Place place) {
    for (ScenarioProblem& one : others) {
      add(place(one.where), std::move(one.message), std::move(one.hint));
    }
  }
  bool empty() const { return list_.empty(); }
  // Is something at this place, or within it, already known to be wrong? Then what only follows
  // from it need not be said.
  bool has(const std::string& where) const;
  // The first kMaxProblems, and a line that says so when there were more.
  std::vector<ScenarioProblem> take();

 private:
  std::vector<ScenarioProblem> list_;
  size_t dropped_ = 0;
};

// How large a scenario may get.
inline constexpr size_t kMaxListLength = 1000;  // elements of one list in the file
inline constexpr size_t kMaxRangeSizes = 1000;  // sizes that one range may expand to
inline constexpr size_t kMaxPlanCells = 100'000;
inline constexpr int kMaxIncludeDepth = 8;

// Where the values of files stand in their texts.
class TextPlaces {
 public:
  TextPlaces() = default;
  TextPlaces(const std::string& file, const std::string& text);

  // A text beside those that are there. Returns where its values stand.
  const JsonPlaces& add(const std::string& file, const std::string& text);
  // Where the values stand that all files together make: a place without a file's name is looked up
  // here, one with a name in that file.
  void set_merged(JsonPlaces merged) { merged_ = std::move(merged); }

  // As it is when no file of these is meant, or the place is told already.
  std::string located(const std::string& where) const;
  std::vector<ScenarioProblem> located(std::vector<ScenarioProblem> problems) const;

 private:
  std::vector<std::string> files_;
  std::vector<JsonPlaces> own_;
  JsonPlaces merged_;
};

// Keys stay in the order of the file, so that problems come out in that order too.
using Json = nlohmann::ordered_json;

// The text of a file, or nothing and a problem. `where` is where the problem is reported.
std::optional<std::string> read_scenario_text(const std::string& path, const std::string& where,
                                              Problems& problems);
// The parsed value, or nothing and one or more problems; `file` is for messages.
std::optional<Json> parse_json_text(const std::string& text, const std::string& file,
                                    Problems& problems);

// "$.a" + "b" -> "$.a.b"; a key that is no plain word is put into brackets and quotes.
inline std::string json_path(const std::string& parent, const std::string& key) {
  return json_member_path(parent, key);
}
inline std::string json_path(const std::string& parent, size_t index) {
  return json_element_path(parent, index);
}

}  // namespace plumbline
