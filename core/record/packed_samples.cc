#include "core/record/packed_samples.h"

#include <optional>

#include "core/base64.h"

namespace plumbline {

// All arithmetic is modulo 2^64, so that every list of numbers survives.
std::string pack_samples(const std::vector<int64_t>& samples) {
  std::string bytes;
  uint64_t before = 0;
  for (const int64_t sample : samples) {
    const uint64_t now = static_cast<uint64_t>(sample);
    const uint64_t step = now - before;
    uint64_t left = step << 1 ^ (step >> 63 != 0 ? ~uint64_t{0} : 0);
    for (; left > 0x7f; left >>= 7) bytes += static_cast<char>(0x80 | (left & 0x7f));
    bytes += static_cast<char>(left);
    before = now;
  }
  return to_base64(bytes);
}

bool unpack_samples(std::string_view text, std::vector<int64_t>& samples) {
  const std::optional<std::string> bytes = from_base64(text);
  if (!bytes) return false;
  samples.clear();
  uint64_t before = 0, value = 0;
  unsigned shift = 0;
  for (const char c : *bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const uint64_t part = byte & 0x7fu;
    if (shift > 63 || part << shift >> shift != part) return false;  // beyond 64 bits
    value |= part << shift;
    shift += 7;
    if ((byte & 0x80u) != 0) continue;
    before += value >> 1 ^ ((value & 1) != 0 ? ~uint64_t{0} : 0);
    samples.push_back(static_cast<int64_t>(before));
    value = 0;
    shift = 0;
  }
  return shift == 0;
}

}  // namespace plumbline
