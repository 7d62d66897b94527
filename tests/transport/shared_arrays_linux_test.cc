// Arrays that a peer maps: what may be mapped, what is let go, and keys that lie.
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/file.h"
#include "tests/support/own_threads_linux.h"
#include "transport/control/wire.h"
#include "transport/shm/shared_arrays.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

constexpr size_t kLeast = 10'000;

std::span<const std::byte> bytes_of(const Array& array) { return {array.data, array.bytes}; }

// How many regions of shared memory this process has mapped, its own and others'.
size_t mapped_regions() {
  const std::string maps = *read_input_file("/proc/self/maps", 16 << 20);
  size_t count = 0;
  for (size_t at = maps.find("memfd:plumbline"); at != std::string::npos;
       at = maps.find("memfd:plumbline", at + 1)) {
    ++count;
  }
  return count;
}

TEST(SharedArrays, ThePeerSeesWhatIsWritten) {
  SharedArrays arrays(kLeast);
  PeerRegions regions;
  for (const size_t bytes : {kLeast, size_t{65'537}, size_t{9} << 20}) {
    const Array array = *arrays.allocate(bytes);
    std::fill_n(array.data, bytes, std::byte{1});
    const auto part = bytes_of(array).subspan(bytes / 2 + 1);
    const Expected<MappedBytes> mapped = regions.map(*arrays.key_of(part), part.size());
    ASSERT_TRUE(mapped) << mapped.error().message();
    EXPECT_NE(mapped->bytes.data(), part.data());
    array.data[bytes - 1] = std::byte{2};
    EXPECT_EQ(mapped->bytes.back(), std::byte{2});
    EXPECT_EQ(mapped->bytes.front(), std::byte{1});
  }
}

TEST(SharedArrays, SmallArraysAndOthersAreNotShared) {
  SharedArrays arrays(kLeast);
  const Array small = *arrays.allocate(kLeast - 1), large = *arrays.allocate(kLeast);
  EXPECT_FALSE(arrays.key_of(bytes_of(small)));
  EXPECT_TRUE(arrays.key_of(bytes_of(large)));
  const std::vector<std::byte> other(100);
  EXPECT_FALSE(arrays.key_of(other));
  // One that begins inside and ends outside.
  EXPECT_FALSE(arrays.key_of({large.data, size_t{64} << 20}));
}

TEST(SharedArrays, ManyArraysShareARegion) {
  SharedArrays arrays(1);
  const size_t before = mapped_regions();
  std::vector<Array> many;
  for (int i = 0; i < 500; ++i) many.push_back(*arrays.allocate(100));
  EXPECT_LE(mapped_regions() - before, 2u);
  many.clear();
  EXPECT_EQ(mapped_regions(), before);
}

TEST(SharedArrays, ARegionThatIsGivenUpIsLetGo) {
  SharedArrays arrays(kLeast);
  PeerRegions regions;
  const size_t before = mapped_regions();
  std::optional<Array> array = *arrays.allocate(kLeast);
  const MemoryKey key = *arrays.key_of(bytes_of(*array));
  ASSERT_TRUE(regions.map(key, kLeast));
  array.reset();
  const Expected<MappedBytes> stale = regions.map(key, kLeast);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, ErrorCode::kProtocol);
  EXPECT_THAT(stale.error().what, HasSubstr("no longer there"));
  for (int i = 0; i < 20; ++i) {
    const Array next = *arrays.allocate(kLeast);
    ASSERT_TRUE(regions.map(*arrays.key_of(bytes_of(next)), kLeast));
  }
  EXPECT_LE(mapped_regions() - before, 1u) << "of the last one, which the peer has not let go yet";
}

// What is being read stays mapped, whatever its owner does.
TEST(SharedArrays, WhatIsHeldOutlivesItsOwner) {
  SharedArrays arrays(kLeast);
  PeerRegions regions;
  std::optional<Array> array = *arrays.allocate(kLeast);
  std::fill_n(array->data, kLeast, std::byte{5});
  MappedBytes mapped = *regions.map(*arrays.key_of(bytes_of(*array)), kLeast);
  array.reset();
  const Array next = *arrays.allocate(kLeast);
  ASSERT_TRUE(regions.map(*arrays.key_of(bytes_of(next)), kLeast));
  EXPECT_EQ(mapped.bytes[kLeast - 1], std::byte{0});
}

TEST(SharedArrays, KeysThatLieAreErrors) {
  SharedArrays arrays(kLeast);
  const Array array = *arrays.allocate(kLeast);
  const MemoryKey good = *arrays.key_of(bytes_of(array));
  ASSERT_TRUE(PeerRegions().map(good, kLeast));
  EXPECT_FALSE(PeerRegions().map(good, size_t{1} << 40)) << "beyond its end";
  for (size_t size : {size_t{0}, good.size - 1, good.size + 1}) {
    MemoryKey cut = good;
    cut.size = size;
    EXPECT_FALSE(PeerRegions().map(cut, kLeast)) << size;
  }
  size_t tried = 0;
  for (size_t i = 0; i < good.size; ++i) {
    if (i >= good.size - 8 && i < good.size - 5) continue;  // another place in the same region
    for (const uint8_t change : {0x01, 0x80, 0xff}) {
      MemoryKey bad = good;
      bad.bytes[i] ^= std::byte{change};
      const bool of_process = i < sizeof(uint64_t);  // which comes first in the key
      if (of_process && test::is_own_thread(WireReader(std::span(bad.bytes)).u64())) continue;
      ++tried;
      PeerRegions regions;
      const Expected<MappedBytes> mapped = regions.map(bad, kLeast);
      EXPECT_FALSE(mapped) << "byte " << i << " changed by " << static_cast<int>(change);
    }
  }
  EXPECT_GE(tried, 3 * (good.size - 4)) << "all but three bytes, and at most a thread's number";
}

}  // namespace
}  // namespace plumbline
