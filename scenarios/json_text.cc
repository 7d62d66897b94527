#include "scenarios/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "core/error.h"
#include "core/input_file.h"
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

std::string json_path(const std::string& parent, const std::string& key) {
  return json_member_path(parent, key);
}

std::string json_path(const std::string& parent, size_t index) {
  return json_element_path(parent, index);
}

}  // namespace plumbline
