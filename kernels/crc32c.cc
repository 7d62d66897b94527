#include "kernels/crc32c.h"

namespace plumbline {
namespace {

// [k][b]: the register after byte b and then k zero bytes.
using SliceTable = std::array<std::array<uint32_t, 256>, 8>;

constexpr SliceTable make_slices() {
  SliceTable table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t v = byte;
    for (int bit = 0; bit < 8; ++bit) v = crc32c_times_x(v);
    table[0][byte] = v;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = table[k - 1][byte];
      table[k][byte] = (before >> 8) ^ table[0][before & 255u];
    }
  }
  return table;
}

constexpr SliceTable kSlices = make_slices();

}  // namespace

uint32_t crc32c_by_table(uint32_t crc, const void* data, size_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  crc = ~crc;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    const uint32_t low =
        crc ^ (p[0] | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16 |
               static_cast<uint32_t>(p[3]) << 24);
    crc = kSlices[7][low & 255u] ^ kSlices[6][(low >> 8) & 255u] ^ kSlices[5][(low >> 16) & 255u] ^
          kSlices[4][low >> 24] ^ kSlices[3][p[4]] ^ kSlices[2][p[5]] ^ kSlices[1][p[6]] ^
          kSlices[0][p[7]];
  }
  for (; bytes != 0; --bytes, ++p) crc = (crc >> 8) ^ kSlices[0][(crc ^ *p) & 255u];
  return ~crc;
}

}  // namespace plumbline
