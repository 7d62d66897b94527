#include "transport/peer_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace plumbline {
namespace {

// From here on an array has a mapping of its own, which may consist of huge pages (2 MiB on x86-64
// and on most of aarch64).
constexpr size_t kHugePage = size_t{2} << 20;

size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

tl::unexpected<Error> no_memory(size_t bytes) {
  return fail_errno(ErrorCode::kSystem, fmt::format("allocate {} bytes", bytes), ENOMEM,
                    "ask for smaller arrays or fewer ranks on this host");
}

// Begins at a multiple of a huge page: only whole ones can be granted.
Expected<Array> map_array(size_t bytes) {
  const size_t size = round_up(bytes, kHugePage), mapped = size + kHugePage;
  void* const base =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return no_memory(bytes);
  void* data = base;
  size_t space = mapped;
  std::align(kHugePage, size, data, space);
#ifdef MADV_HUGEPAGE
  // Refused where the system has no such pages: small ones are right too.
  static_cast<void>(::madvise(data, size, MADV_HUGEPAGE));
#endif
  return Array{static_cast<std::byte*>(data), bytes,
               std::shared_ptr<void>(base, [mapped](void* at) { ::munmap(at, mapped); })};
}

tl::unexpected<Error> not_able(const char* what) {
  return fail(ErrorCode::kUnsupported,
              fmt::format("memory of the peer was to be {}, which this transport cannot", what),
              "this is a defect of the program, not of the network");
}

}  // namespace

size_t packed_size(const MemoryKey& key) { return 1 + key.size; }

PackedKey pack_key(const MemoryKey& key) {
  PackedKey packed{};
  packed[0] = std::byte(static_cast<unsigned>(key.kind) << 4 | static_cast<unsigned>(key.reach));
  std::copy(key.view().begin(), key.view().end(), packed.begin() + 1);
  return packed;
}

std::optional<MemoryKey> unpack_key(std::span<const std::byte> packed) {
  if (packed.empty() || packed.size() > MemoryKey::kMostPacked) return std::nullopt;
  const auto ways = std::to_integer<unsigned>(packed[0]);
  MemoryKey key;
  key.kind = static_cast<MemoryKind>(ways >> 4);
  key.reach = static_cast<MemoryReach>(ways & 0xf);
  if (key.kind != MemoryKind::kHost) return std::nullopt;
  if (key.reach < MemoryReach::kMap || key.reach > MemoryReach::kWrite) return std::nullopt;
  key.size = packed.size() - 1;
  if (key.size == 0 && key.reach != MemoryReach::kWrite) return std::nullopt;
  std::copy(packed.begin() + 1, packed.end(), key.bytes.begin());
  return key;
}

Expected<MappedBytes> PeerMemory::map(const MemoryKey&, uint64_t) { return not_able("mapped"); }

Expected<uint64_t> PeerMemory::start_read(const MemoryKey&, uint64_t, uint64_t,
                                          std::span<std::byte>) {
  return not_able("read");
}

Expected<bool> PeerMemory::read_done(uint64_t) { return not_able("read"); }

Expected<MemoryKey> PeerMemory::grant(std::span<std::byte>) { return not_able("written"); }

Expected<uint64_t> PeerMemory::start_write(const MemoryKey&, uint64_t, uint64_t,
                                           std::span<const std::byte>) {
  return not_able("written");
}

Expected<bool> PeerMemory::write_done(uint64_t) { return not_able("written"); }

Expected<Array> allocate_array(size_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() - 2 * kHugePage) return no_memory(bytes);
  if (bytes >= kHugePage) return map_array(bytes);
  const size_t size = round_up(std::max<size_t>(bytes, 1), kArrayAlignment);
  std::shared_ptr<void> memory(std::aligned_alloc(kArrayAlignment, size), std::free);
  if (!memory) return no_memory(bytes);
  return Array{static_cast<std::byte*>(memory.get()), bytes, memory};
}

}  // namespace plumbline
