// CRC-32C on every target: the vectors of RFC 3720 B.4, a bitwise reference, and going on in parts.
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string_view>

#include "tests/kernels/reference.h"

namespace plumbline {
namespace {

class Crc32c : public testing::TestWithParam<const KernelSet*> {
 protected:
  uint32_t crc(const void* data, size_t bytes) const { return GetParam()->crc32c(0, data, bytes); }
};
INSTANTIATE_TEST_SUITE_P(Checksum, Crc32c, testing::ValuesIn(reference::all_sets()),
                         reference::set_name);

uint32_t bitwise(const uint8_t* data, size_t bytes) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

std::vector<uint8_t> random_bytes(size_t bytes) {
  std::mt19937 random(5);
  std::vector<uint8_t> data(bytes);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
  return data;
}

TEST_P(Crc32c, meets_the_vectors_of_rfc_3720) {
  EXPECT_EQ(crc("", 0), 0u);
  EXPECT_EQ(crc("123456789", 9), 0xe3069283u);
  std::vector<uint8_t> data(32, 0);
  EXPECT_EQ(crc(data.data(), 32), 0x8a9136aau);
  data.assign(32, 0xff);
  EXPECT_EQ(crc(data.data(), 32), 0x62a8ab43u);
  std::iota(data.begin(), data.end(), uint8_t{0});
  EXPECT_EQ(crc(data.data(), 32), 0x46dd794eu);
  std::iota(data.rbegin(), data.rend(), uint8_t{0});
  EXPECT_EQ(crc(data.data(), 32), 0x113fdb5cu);
}

TEST_P(Crc32c, equals_the_bitwise_definition_at_any_length_and_address) {
  const std::vector<uint8_t> data = random_bytes(50000);
  // Through the short and medium blocks of every target, and around the ends of the long ones.
  for (size_t bytes = 0; bytes <= 2600; ++bytes) {
    const size_t start = bytes % 9;
    ASSERT_EQ(crc(data.data() + start, bytes), bitwise(data.data() + start, bytes)) << bytes;
  }
  for (const size_t bytes : {6143u, 10848u, 12288u, 20001u, 21695u, 21696u, 49990u}) {
    for (size_t start = 0; start < 9; ++start) {
      ASSERT_EQ(crc(data.data() + start, bytes), bitwise(data.data() + start, bytes))
          << bytes << " from " << start;
    }
  }
}

TEST_P(Crc32c, goes_on_from_any_cut) {
  const std::vector<uint8_t> data = random_bytes(20011);
  const uint32_t whole = crc(data.data(), data.size());
  std::mt19937 random(6);
  for (int round = 0; round < 200; ++round) {
    uint32_t parts = 0;
    for (size_t at = 0; at < data.size();) {
      const size_t most = round % 2 == 0 ? 100 : 15000;
      const size_t bytes = std::min<size_t>(random() % most, data.size() - at);
      parts = GetParam()->crc32c(parts, data.data() + at, bytes);
      at += bytes;
    }
    ASSERT_EQ(parts, whole) << "round " << round;
  }
}

TEST_P(Crc32c, sees_every_single_flipped_bit) {
  std::vector<uint8_t> data = random_bytes(777);
  const uint32_t before = crc(data.data(), data.size());
  for (size_t bit = 0; bit < 8 * data.size(); ++bit) {
    data[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    ASSERT_NE(crc(data.data(), data.size()), before) << "bit " << bit;
    data[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
  }
}

}  // namespace
}  // namespace plumbline
