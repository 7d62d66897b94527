// Arrays that a peer maps where memory has no name (MemoryWay::kHanded): their regions are handed
// over once each, before the key; and what a peer that lies may hand over instead.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/file.h"
#include "tests/support/descriptors_linux.h"
#include "transport/control/wire.h"
#include "transport/shm/handover.h"
#include "transport/shm/shared_arrays.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

constexpr size_t kLeastHanded = 10'000;
constexpr size_t kMost = SharedArrays::kMostHandedRegions;

std::span<const std::byte> all_of(const Array& array) { return {array.data, array.bytes}; }

size_t mapped_memory() {
  const std::string maps = *read_input_file("/proc/self/maps", 16 << 20);
  size_t count = 0;
  for (size_t at = maps.find("memfd:"); at != std::string::npos; at = maps.find("memfd:", at + 1))
    ++count;
  return count;
}

// This rank's arrays, and the one peer that is handed them.
struct Handing {
  Handing() {
    EXPECT_TRUE(theirs.meet());
    EXPECT_TRUE(ours.meet());
    // With the memory of the rings the two find each other.
    const SharedMemory rings = *SharedMemory::create(4096);
    EXPECT_TRUE(ours.send(0, 4096, rings.descriptor()));
    EXPECT_TRUE((*theirs.receive()).has_value());
  }
  std::optional<MemoryKey> key_of(const Array& array) {
    return arrays.key_of(all_of(array), handed, ours);
  }
  Expected<MappedBytes> map(const MemoryKey& key, uint64_t bytes) {
    return regions.map(key, bytes, &theirs);
  }

  const Digest secret = random_token();
  Handover theirs{secret, Handover::Part::kListens}, ours{secret, Handover::Part::kConnects};
  SharedArrays arrays{kLeastHanded, MemoryWay::kHanded};
  HandedRegions handed;
  PeerRegions regions;
};

TEST(HandedArrays, ThePeerSeesWhatIsWritten) {
  Handing pair;
  for (const size_t bytes : {kLeastHanded, size_t{65'537}, size_t{9} << 20}) {
    const Array array = *pair.arrays.allocate(bytes);
    std::fill_n(array.data, bytes, std::byte{1});
    const auto part = all_of(array).subspan(bytes / 2 + 1);
    const auto key = pair.arrays.key_of(part, pair.handed, pair.ours);
    ASSERT_TRUE(key);
    const Expected<MappedBytes> mapped = pair.map(*key, part.size());
    ASSERT_TRUE(mapped) << mapped.error().message();
    EXPECT_NE(mapped->bytes.data(), part.data());
    array.data[bytes - 1] = std::byte{2};
    EXPECT_EQ(mapped->bytes.back(), std::byte{2});
    EXPECT_EQ(mapped->bytes.front(), std::byte{1});
  }
}

// Of many arrays of a region, and of many messages in one, one descriptor goes over.
TEST(HandedArrays, ARegionIsHandedOverOnce) {
  Handing pair;
  const Array one = *pair.arrays.allocate(kLeastHanded),
              other = *pair.arrays.allocate(kLeastHanded);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(pair.key_of(one));
    ASSERT_TRUE(pair.key_of(other));
  }
  ASSERT_TRUE(pair.map(*pair.key_of(other), kLeastHanded));
  EXPECT_FALSE((*pair.theirs.receive()).has_value()) << "nothing is left";
  ASSERT_TRUE(pair.map(*pair.key_of(one), kLeastHanded));
  const std::vector<std::byte> plain(kLeastHanded);
  EXPECT_FALSE(pair.arrays.key_of(plain, pair.handed, pair.ours));
}

// Keys may be asked about in another order than they came in.
TEST(HandedArrays, RegionsAreFoundInAnyOrder) {
  Handing pair;
  std::vector<Array> all;
  std::vector<MemoryKey> keys;
  for (int i = 0; i < 10; ++i) {
    all.push_back(*pair.arrays.allocate(size_t{5} << 20));
    all.back().data[0] = std::byte(i);
    keys.push_back(*pair.key_of(all.back()));
  }
  for (const size_t i : {9, 0, 5, 9, 1, 8, 2, 7, 3, 6, 4}) {
    const Expected<MappedBytes> mapped = pair.map(keys[i], all[i].bytes);
    ASSERT_TRUE(mapped) << i;
    EXPECT_EQ(mapped->bytes[0], std::byte(i));
  }
}

TEST(HandedArrays, ARegionThatIsGivenUpAndMadeAgainLeavesNothing) {
  Handing pair;
  const size_t mapped = mapped_memory(), open = test::open_descriptors();
  std::optional<Array> array = *pair.arrays.allocate(kLeastHanded);
  const MemoryKey key = *pair.key_of(*array);
  ASSERT_TRUE(pair.map(key, kLeastHanded));
  array.reset();
  const Expected<MappedBytes> stale = pair.map(key, kLeastHanded);
  ASSERT_FALSE(stale);
  EXPECT_THAT(stale.error().what, HasSubstr("no longer there"));
  for (size_t i = 0; i < 5 * kMost; ++i) {
    const Array next = *pair.arrays.allocate(kLeastHanded);
    const std::optional<MemoryKey> next_key = pair.key_of(next);
    ASSERT_TRUE(next_key) << i;
    // Some are given up before the peer has looked.
    if (i % 3 != 0) {
      ASSERT_TRUE(pair.map(*next_key, kLeastHanded)) << i;
    }
  }
  EXPECT_LE(mapped_memory() - mapped, 3u) << "of the last ones, which the peer has not let go yet";
  EXPECT_LE(test::open_descriptors() - open, 1u) << "one that it has not taken";
}

// What is beyond the bound goes through the rings, and the peer never sees too many.
TEST(HandedArrays, RegionsAreBounded) {
  Handing pair;
  const size_t open = test::open_descriptors();
  std::vector<Array> all;
  for (size_t i = 0; i < kMost + 5; ++i) {
    all.push_back(*pair.arrays.allocate(size_t{4} << 20));
    const std::optional<MemoryKey> key = pair.key_of(all.back());
    ASSERT_EQ(key.has_value(), i < kMost) << i;
    if (key) {
      ASSERT_TRUE(pair.map(*key, all.back().bytes)) << i;
    }
  }
  EXPECT_EQ(test::open_descriptors() - open, kMost) << "the peer keeps none";
  all.erase(all.begin());
  const Array next = *pair.arrays.allocate(size_t{4} << 20);
  ASSERT_TRUE(pair.key_of(next)) << "there is room again";
  ASSERT_TRUE(pair.map(*pair.key_of(next), next.bytes));
}

// A peer that takes nothing for a while: what it could not be handed has no key, and later one.
TEST(HandedArrays, WhatCannotBeHandedOverNowHasNoKeyNow) {
  Handing pair;
  const SharedMemory other = *SharedMemory::create(4096);
  size_t filled = 0;
  while (filled < 10'000 && pair.ours.send(0, 4096, other.descriptor())) ++filled;
  const Array array = *pair.arrays.allocate(kLeastHanded);
  EXPECT_FALSE(pair.key_of(array));
  while (filled-- > 0) ASSERT_TRUE((*pair.theirs.receive()).has_value());
  const std::optional<MemoryKey> key = pair.key_of(array);
  ASSERT_TRUE(key);
  EXPECT_TRUE(pair.map(*key, kLeastHanded));
}

TEST(HandedArrays, KeysThatLieAreErrors) {
  Handing pair;
  const Array array = *pair.arrays.allocate(kLeastHanded);
  const MemoryKey good = *pair.key_of(array);
  ASSERT_TRUE(pair.map(good, kLeastHanded));
  EXPECT_FALSE(pair.map(good, size_t{1} << 40)) << "beyond its end";
  for (size_t i = 0; i < good.size; ++i) {
    if (i >= good.size - 8 && i < good.size - 5) continue;  // another place in the same region
    for (const uint8_t change : {0x01, 0x80, 0xff}) {
      MemoryKey bad = good;
      bad.bytes[i] ^= std::byte{change};
      const Expected<MappedBytes> mapped = pair.map(bad, kLeastHanded);
      ASSERT_FALSE(mapped) << "byte " << i << " changed by " << static_cast<int>(change);
      EXPECT_EQ(mapped.error().code, ErrorCode::kProtocol);
    }
  }
  EXPECT_TRUE(pair.map(good, kLeastHanded)) << "and the true one still is none";
}

// ---- a peer that lies about what it hands over ----

MemoryKey key_for(uint64_t id, uint64_t bytes) {
  WireWriter out;
  for (const uint64_t word : {uint64_t{0}, uint64_t{0}, bytes, id, uint64_t{4096}}) out.u64(word);
  MemoryKey key;
  key.size = out.view().size();
  std::copy(out.view().begin(), out.view().end(), key.bytes.begin());
  return key;
}

// As a region begins.
SharedMemory region_of(uint64_t id, size_t bytes) {
  SharedMemory memory = *SharedMemory::create(bytes);
  std::copy_n(reinterpret_cast<const std::byte*>(&id), sizeof id, memory.data());
  return memory;
}

void expect_refused(Handing& pair, const MemoryKey& key, const std::string& what) {
  const size_t mapped = mapped_memory();
  const Expected<MappedBytes> taken = pair.map(key, 100);
  ASSERT_FALSE(taken) << what;
  EXPECT_EQ(taken.error().code, ErrorCode::kProtocol) << what;
  EXPECT_LE(mapped_memory(), mapped) << what;
}

constexpr uint64_t kId = 77;
constexpr size_t kRegion = 64 * 1024;

TEST(HandedLies, AKeyOfWhatNeverCame) {
  Handing pair;
  expect_refused(pair, key_for(kId, kRegion), "nothing came");
  const SharedMemory other = region_of(kId + 1, kRegion);
  ASSERT_TRUE(pair.ours.send(kId + 1, kRegion, other.descriptor()));
  const Expected<MappedBytes> taken = pair.map(key_for(kId, kRegion), 100);
  ASSERT_FALSE(taken) << "another one came";
  EXPECT_THAT(taken.error().what, HasSubstr("not handed over"));
  EXPECT_TRUE(pair.map(key_for(kId + 1, kRegion), 100)) << "which can be used";
  pair.ours.close();
  expect_refused(pair, key_for(kId, kRegion), "and the socket is closed");
}

TEST(HandedLies, DescriptorsOfSomethingElse) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reading(ends[0]), writing(ends[1]);
  const std::string path = testing::TempDir() + "handed";
  ASSERT_TRUE(write_text_file(path, std::string(kRegion, 'x')));
  const Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const Fd unsealed(::memfd_create("unsealed", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(unsealed.get(), kRegion), 0);
  const Fd folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd device(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  const SharedMemory small = region_of(kId, kRegion - 4096), large = region_of(kId, 2 * kRegion);
  for (const auto& [fd, what] :
       std::vector<std::pair<int, const char*>>{{reading.get(), "a pipe"},
                                                {file.get(), "a file"},
                                                {unsealed.get(), "memory that may shrink"},
                                                {folder.get(), "a folder"},
                                                {device.get(), "a device"},
                                                {small.descriptor(), "too small"},
                                                {large.descriptor(), "too large"}}) {
    Handing pair;
    const size_t open = test::open_descriptors();
    ASSERT_TRUE(pair.ours.send(kId, kRegion, fd));
    expect_refused(pair, key_for(kId, kRegion), what);
    EXPECT_EQ(test::open_descriptors(), open) << what;
  }
  EXPECT_EQ(read_input_file(path, 2 * kRegion).value_or(""), std::string(kRegion, 'x'));
}

TEST(HandedLies, WordsThatDoNotFitWhatTheyCameWith) {
  struct Lie {
    const char* what;
    uint64_t id, bytes, key_bytes;
  };
  for (const Lie& lie : {Lie{"no number", 0, kRegion, kRegion}, Lie{"no bytes", kId, 0, kRegion},
                         Lie{"smaller than it is", kId, kRegion - 4096, kRegion},
                         Lie{"larger than it is", kId, kRegion + 4096, kRegion},
                         Lie{"more than there can be", kId, uint64_t{1} << 40, kRegion},
                         Lie{"a key with fewer bytes", kId, kRegion, kRegion - 4096},
                         Lie{"a key with more bytes", kId, kRegion, kRegion + 4096}}) {
    Handing pair;
    const SharedMemory memory = region_of(kId, kRegion);
    ASSERT_TRUE(pair.ours.send(lie.id, lie.bytes, memory.descriptor()));
    const Expected<MappedBytes> taken = pair.map(key_for(kId, lie.key_bytes), 100);
    ASSERT_FALSE(taken) << lie.what;
    EXPECT_EQ(taken.error().code, ErrorCode::kProtocol) << lie.what;
  }
}

TEST(HandedLies, TheSameNumberTwice) {
  Handing pair;
  const SharedMemory one = region_of(kId, kRegion), other = region_of(kId, kRegion);
  ASSERT_TRUE(pair.ours.send(kId, kRegion, one.descriptor()));
  ASSERT_TRUE(pair.map(key_for(kId, kRegion), 100));
  ASSERT_TRUE(pair.ours.send(kId, kRegion, other.descriptor()));
  expect_refused(pair, key_for(kId + 1, kRegion), "twice");
}

// Memory in which another number stands, or none: as one that was given up.
TEST(HandedLies, AnotherRegionThanItSays) {
  Handing pair;
  const SharedMemory memory = region_of(kId + 5, kRegion);
  ASSERT_TRUE(pair.ours.send(kId, kRegion, memory.descriptor()));
  expect_refused(pair, key_for(kId, kRegion), "another number");
}

TEST(HandedLies, MoreThanAnyRankHas) {
  Handing pair;
  const size_t before = mapped_memory();
  std::vector<SharedMemory> all;
  uint64_t id = 1;
  bool refused = false;
  for (; id < 10 * kMost && !refused; ++id) {
    all.push_back(region_of(id, 8192));
    ASSERT_TRUE(pair.ours.send(id, 8192, all.back().descriptor()));
    const Expected<MappedBytes> taken = pair.map(key_for(id, 8192), 100);
    refused = !taken;
    if (refused) {
      EXPECT_THAT(taken.error().what, HasSubstr("too much memory"));
    }
  }
  EXPECT_TRUE(refused);
  EXPECT_LE(mapped_memory() - before - all.size(), 2 * kMost);
}

}  // namespace
}  // namespace plumbline
