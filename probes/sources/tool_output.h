// Reading what tools and files say, without trusting it: text cut into pieces, which are views into
// the caller's, and fields out of JSON, never throwing (a missing field or one of another type
// gives the empty value). Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace plumbline {

// Without their line ends; a carriage return before the line end goes with it. Text that ends in a
// line end has no empty last line.
std::vector<std::string_view> lines_of(std::string_view text);
// Separated by spaces and tabs, none of them empty.
std::vector<std::string_view> words_of(std::string_view line);
// Between separators, also the empty ones; behind a separator at the end there is none.
std::vector<std::string_view> parts_of(std::string_view text, char separator);
// The words from number `first` on, one space between them.
std::string joined(const std::vector<std::string_view>& words, size_t first = 0);
// What is not in the list yet, while the list is shorter than `most`.
void add_once(std::vector<std::string>& list, std::string_view text, size_t most = SIZE_MAX);
// "PATH:LINE" of a row with "@files" -> {path, line}; the first colon separates. Lines without one
// are left out.
std::vector<std::pair<std::string_view, std::string_view>> file_lines(std::string_view text);
// The first line of what a tool said when it failed, without control characters, at most 200 bytes.
std::string first_line(std::string_view text);
// The word after `key` in a list of words; empty when there is none.
std::string_view word_after(const std::vector<std::string_view>& words, std::string_view key);

// The array that a tool printed; no output at all is an empty one (`ip -j` does so). kProtocol when
// the text is no JSON array, which names the tool.
Expected<nlohmann::json> parse_json_array(const std::string& text, const char* tool);

std::string text_at(const nlohmann::json& object, const char* key);
// Whole numbers only, in the range of int64_t.
std::optional<int64_t> number_at(const nlohmann::json& object, const char* key);
// True, and also present with null, as iproute2 writes some flags.
bool flag_at(const nlohmann::json& object, const char* key);
// The object or array behind the key; a null value when there is none.
const nlohmann::json& part_at(const nlohmann::json& object, const char* key);

}  // namespace plumbline
