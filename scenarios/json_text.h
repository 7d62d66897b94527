// From a file to a JSON value: reading with a size limit, UTF-8 check, parsing with comments
// allowed and duplicate keys refused. Syntax errors are named as file:line:column, counted in
// bytes from 1. Thread-safe.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "scenarios/problems.h"

namespace plumbline {

// Keys stay in the order of the file, so that problems come out in that order too.
using Json = nlohmann::ordered_json;

// The text of a file, or nothing and a problem. `where` is where the problem is reported.
std::optional<std::string> read_scenario_text(const std::string& path, const std::string& where,
                                              Problems& problems);
// The parsed value, or nothing and one or more problems; `file` is for messages.
std::optional<Json> parse_json_text(const std::string& text, const std::string& file,
                                    Problems& problems);

// "$.a" + "b" -> "$.a.b"; a key that is no plain word is put into brackets and quotes.
std::string json_path(const std::string& parent, const std::string& key);
std::string json_path(const std::string& parent, size_t index);

}  // namespace plumbline
