// Cutting the text of tools and files into pieces, without trusting it. Pure functions over views
// into the caller's text, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumbline {

// Without their line ends; a carriage return before the line end goes with it. Text that ends in a
// line end has no empty last line.
std::vector<std::string_view> lines_of(std::string_view text);
// Separated by spaces and tabs, none of them empty.
std::vector<std::string_view> words_of(std::string_view line);
// "PATH:LINE" of a row with "@files" -> {path, line}; the first colon separates. Lines without one
// are left out.
std::vector<std::pair<std::string_view, std::string_view>> file_lines(std::string_view text);
// The first line of what a tool said when it failed, without control characters, at most 200 bytes.
std::string first_line(std::string_view text);
// The word after `key` in a list of words; empty when there is none.
std::string_view word_after(const std::vector<std::string_view>& words, std::string_view key);

}  // namespace plumbline
