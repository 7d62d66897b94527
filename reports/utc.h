// Moments between the text of records (RFC 3339, UTC) and the numbers of other formats. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plumbline {

// Milliseconds since 1970 of "2026-11-20T20:42:23.433Z", "2026-11-20T20:42:23Z" or
// "2026-11-20T20:42:23+01:00"; nothing when it is no such text.
std::optional<int64_t> epoch_ms(const std::string& time);
// The reverse, to the second: "2026-11-20T20:42:23Z"; empty outside the years 1970 to 9999.
std::string utc_text(int64_t epoch_s);
// The same moment as iperf3 writes it (the date of HTTP, RFC 9110): "Sat, 21 Nov 2026 10:00:00
// GMT", in English whatever the locale.
std::string http_date_text(int64_t epoch_s);

}  // namespace plumbline
