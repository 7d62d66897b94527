#include "probes/actions/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/sha256.h"

namespace plumbline {
namespace {

// Length of the UTF-8 sequence that begins here (RFC 3629), 0 when there is none.
size_t sequence_length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  uint32_t point = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0u) != 0x80) return 0;
    point = point << 6 | (at(i) & 0x3fu);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  return overlong || surrogate || point > 0x10ffff ? 0 : length;
}

}  // namespace

std::string escaped(std::string_view bytes, size_t max_bytes) {
  std::string out;
  for (const char c : bytes.substr(0, max_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
  }
  return out;
}

std::string valid_utf8(std::string_view bytes, size_t max_bytes) {
  bytes = bytes.substr(0, max_bytes);
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t length = sequence_length(bytes);
    if (length == 0) {
      out += '?';
    } else {
      out.append(bytes.substr(0, length));
    }
    bytes.remove_prefix(std::max<size_t>(1, length));
  }
  return out;
}

std::string mac_text(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (!text.empty()) text += ':';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15u];
  }
  return text;
}

std::string new_nonce() {
  const Digest random = random_token();
  return to_hex(std::span(random).first(8));
}

}  // namespace plumbline
