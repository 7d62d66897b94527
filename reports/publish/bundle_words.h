// What stands in bundles and on the page of results, written in one way on every machine: words
// that a reader sees as they are (`submit` asks for such texts and `verify` takes no others, by the
// same rules), quotients of large products without rounding on the way, and days. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plumbline {

// Code points of UTF-8: what the limits of texts count.
size_t characters(std::string_view text);

// "holds a link", "holds an invisible character" ..., or empty. Line breaks are no concern of it.
std::string hidden_in(std::string_view text);

// NOLINTNEXTLINE(modernize-use-using): `using` cannot carry the __extension__ that -Wpedantic wants
__extension__ typedef unsigned __int128 Wide;

// numerator / denominator as decimal text with exactly `digits` digits behind the point, cut off
// and not rounded, the same text on every machine. Needs denominator > 0, digits >= 1 and
// denominator < 2^64.
std::string decimal_text(Wide numerator, Wide denominator, int digits);

// Days since 1970-01-01; nullopt for what is no day of the calendar (2026-02-30).
std::optional<int64_t> day_number(std::string_view date);

}  // namespace plumbline
