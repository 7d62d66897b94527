// Bytes of strangers as text that may stand in JSON, on a terminal and in a report. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace plumbline {

// The first `max_bytes` bytes: printable ASCII as it is, line ends as "\n" and "\r" written out,
// everything else as "\xNN".
std::string escaped(std::string_view bytes, size_t max_bytes);
// The same text, cut at `max_bytes`, with every byte that is no UTF-8 replaced by '?'.
std::string valid_utf8(std::string_view bytes, size_t max_bytes);
// "02:00:0a:0a:00:01": a link-layer address of any length.
std::string mac_text(std::string_view bytes);
// A fresh random word of 16 hex digits.
std::string new_nonce();

}  // namespace plumbline
