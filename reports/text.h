// Small text tools of the reports: width of UTF-8 on a terminal, wrapping, cleaning of strings that
// came from elsewhere (a host name or an error text may hold anything), the number formats of
// the tables, words about cells, and moments in the forms that other tools have. Pure functions,
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/cell.h"

namespace plumbline {

// Columns that the text takes on a terminal: code points, wide East Asian ones twice, combining
// ones not at all. Bytes that are no UTF-8 count as one column each.
size_t display_width(std::string_view text);
// Control characters (ESC, newline, tab, those that turn the direction of writing ...) become one
// space each, bytes that are no UTF-8 a "?",
// so that a record's strings can neither move the cursor nor break a line.
std::string clean(std::string_view text);
// Cleaned text for HTML, SVG and XML, in an element or a quoted attribute: & < > " ' as references,
// and the two characters that are Unicode but not XML as "?".
std::string escape_markup(std::string_view text);
// Padded with spaces to `width` columns; longer text is cut and ends in "~".
std::string fit(std::string_view text, size_t width, bool left);
// Cleaned, and cut in the same way to at most `width` columns; nothing is added.
std::string cut(std::string_view text, size_t width);
// Padded as by fit(), for a path: longer text loses its beginning, for which "..." stands.
std::string fit_end(std::string_view text, size_t width);
// Words onto lines of at most `width` columns (0 = unlimited); a longer word is broken. The
// first line starts with `first`, the others with as many spaces.
std::vector<std::string> wrap(std::string_view text, size_t width, std::string_view first = {});
// What is shown as the reason of something: never nothing.
std::string reason_text(const std::string& reason);
// "1 rank", "4 ranks".
std::string plural(size_t count, const std::string& word);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// Nanoseconds as microseconds without a unit: "0.0123", "9.81", "235.2", "17327".
std::string us_text(std::optional<double> ns);
// Bytes per second as 10^9 bytes per second, without a unit: "0.00042", "1.25", "118.9".
std::string gbps_text(std::optional<double> bytes_per_second);
// A fraction as percent, without a unit: "61".
std::string percent_text(std::optional<double> fraction);

// Fields of a cell that reports have no words of their own for, where they are set: "late_us=50".
std::vector<std::string> other_words(const Cell& cell);
// What sets a cell apart from the usual one of its operation, where a table has no column of its
// own for it: "sync window", "4 in flight", "root 2", "on node1+node2", "chunk_bytes=65536" ...;
// empty = as usual.
std::vector<std::string> variant_words(const Cell& cell);
// What the cell has several of at once: operations "in flight", or "streams" of a link.
const char* word_of_outstanding(const Cell& cell);
// "2-4,8"
std::string ranges_text(const std::set<int>& numbers);

// Milliseconds since 1970 of "2026-11-20T20:42:23.433Z", "2026-11-20T20:42:23Z" or
// "2026-11-20T20:42:23+01:00"; nothing when it is no such text.
std::optional<int64_t> epoch_ms(const std::string& time);
// The reverse, to the second: "2026-11-20T20:42:23Z"; empty outside the years 1970 to 9999.
std::string utc_text(int64_t epoch_s);
// The same moment as iperf3 writes it (the date of HTTP, RFC 9110): "Sat, 21 Nov 2026 10:00:00
// GMT", in English whatever the locale.
std::string http_date_text(int64_t epoch_s);

}  // namespace plumbline
