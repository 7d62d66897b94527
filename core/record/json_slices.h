// JSON text taken apart without being read: the members of an object as slices of its text, so that
// a reader of many similar lines need not parse what it has just seen or does not want. Nothing
// here says that a value is well formed; whoever parses a slice finds out. Pure, never throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumbline {

struct JsonMember {
  std::string_view key;    // between its quotes, escapes as written
  std::string_view value;  // without the space around it
};

// The members of the object that `text` is, in their order; false when it is no object, or nested
// deeper than any record.
bool split_object(std::string_view text, std::vector<JsonMember>& members);

// Whole numbers, in one go: 5, [1,2,3] and [[1,2],[3,4]]. False, with rubbish in `out`, for
// anything else (fractions, numbers out of range): then a real parser has to look.
bool read_integer(std::string_view text, int64_t& out);
bool read_integer(std::string_view text, uint64_t& out);
bool read_integers(std::string_view text, std::vector<int64_t>& out);
bool read_integer_pairs(std::string_view text, std::vector<std::pair<uint32_t, uint64_t>>& out);

// `text` with null for the words by which some writers say "no number" (NaN, Infinity, -inf ...;
// JSON has none of them); nullopt when there is none outside of strings.
std::optional<std::string> without_nonfinite(std::string_view text);

}  // namespace plumbline
