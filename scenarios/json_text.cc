#include "scenarios/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/json_scan.h"

namespace plumbline {
namespace {

constexpr size_t kMaxFileBytes = 1024 * 1024;  // a scenario is a page of text

bool is_blank(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
}

}  // namespace

std::optional<std::string> read_scenario_text(const std::string& path, const std::string& where,
                                              Problems& problems) {
  const Expected<std::string> text = read_input_file(path, kMaxFileBytes);
  if (text) return *text;
  Error error = text.error();
  if (error.sys_errno != 0) error.what = fmt::format("cannot open {}", in_quotes(path));
  if (error.sys_errno == ENOENT) error.hint = "check the path";
  problems.add(where, error.message());
  return std::nullopt;
}

std::optional<Json> parse_json_text(const std::string& text, const std::string& file,
                                    Problems& problems) {
  if (is_blank(text)) {
    problems.add(file + ":1:1", "the file is empty",
                 "a scenario begins as {\"plumbline\": 1, \"question\": ...}");
    return std::nullopt;
  }
  const JsonScan scan = scan_json(text);
  for (const JsonFault& fault : scan.faults) {
    const std::string place = fmt::format("{}:{}", file, spot_text(fault.spot));
    problems.add(fault.path.empty() ? place : place + ": " + fault.path, fault.what, fault.hint);
  }
  if (scan.broken) return std::nullopt;
  Json json = Json::parse(text, nullptr, false, true);
  if (!json.is_discarded()) return json;
  problems.add(file + ":1:1", "this is no JSON", "docs/scenario_format.md shows an example");
  return std::nullopt;
}

void Problems::add(std::string where, std::string message, std::string hint) {
  if (list_.size() < kMaxProblems) {
    list_.push_back({std::move(where), std::move(message), std::move(hint)});
  } else {
    ++dropped_;
  }
}

bool Problems::has(const std::string& where) const {
  return std::any_of(list_.begin(), list_.end(), [&where](const ScenarioProblem& problem) {
    if (problem.where.compare(0, where.size(), where) != 0) return false;
    const char next = problem.where.size() == where.size() ? '.' : problem.where[where.size()];
    return next == '.' || next == '[';
  });
}

std::vector<ScenarioProblem> Problems::take() {
  if (dropped_ > 0) {
    list_.push_back({list_.back().where, fmt::format("and {} more problems", dropped_),
                     "correct the first ones, then run it again"});
  }
  dropped_ = 0;
  return std::exchange(list_, {});
}

TextPlaces::TextPlaces(const std::string& file, const std::string& text) {
  merged_ = add(file, text);
}

const JsonPlaces& TextPlaces::add(const std::string& file, const std::string& text) {
  JsonPlaces places;
  places.add_all(scan_json(text).places, files_.size());
  files_.push_back(file);
  own_.push_back(std::move(places));
  return own_.back();
}

std::string TextPlaces::located(const std::string& where) const {
  if (where.rfind('$', 0) == 0 && !files_.empty()) {
    const JsonSpot spot = merged_.find(where);
    return fmt::format("{}:{}: {}", files_[spot.file], spot_text(spot), where);
  }
  for (size_t i = 0; i < files_.size(); ++i) {
    if (where == files_[i]) return fmt::format("{}:{}", where, spot_text({}));
    const std::string prefix = files_[i] + ": ";
    if (where.rfind(prefix + "$", 0) != 0) continue;
    const std::string path = where.substr(prefix.size());
    return fmt::format("{}:{}: {}", files_[i], spot_text(own_[i].find(path)), path);
  }
  return where;
}

std::vector<ScenarioProblem> TextPlaces::located(std::vector<ScenarioProblem> problems) const {
  for (ScenarioProblem& problem : problems) problem.where = located(problem.where);
  return problems;
}

}  // namespace plumbline
