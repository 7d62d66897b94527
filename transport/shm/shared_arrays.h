// Arrays that the other ranks of this machine may map. Each rank cuts its arrays out of regions of
// shared memory and tells a peer which region holds one and where it begins; the peer maps the
// region, read-only, once: it opens it by its name, or, where memory has none (MemoryWay), it was
// handed it before it was told. A region that is given up says so in its first bytes, so that peers
// let go of it, and its pages are given back at once where the system can (macOS: when the peers
// have let go of it, which they do when they need another region).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "transport/peer_memory.h"
#include "transport/shm/handover.h"
#include "transport/shm/shared_memory.h"

namespace plumbline {

// One region and what has been cut out of it.
class SharedRegion;

// The regions of this rank that one peer has been handed. Used by one thread.
class HandedRegions {
 public:
  // Whether the peer has this one now, which it is handed when it has not and can be.
  bool hand(const std::shared_ptr<const SharedRegion>& region, Handover& over);

 private:
  struct Handed {
    uint64_t id = 0;
    std::weak_ptr<const SharedRegion> region;
  };
  std::vector<Handed> handed_;
};

class SharedArrays : public ArrayPool {
 public:
  // Regions that are handed over are at most so many, because each takes a descriptor for as long
  // as it lives, of which a process of macOS has 256.
  static constexpr size_t kMostHandedRegions = 64;

  // Shared from so many bytes on, and where there is enough; other arrays are this process's alone.
  explicit SharedArrays(size_t least_bytes, MemoryWay way = memory_way())
      : least_bytes_(least_bytes), way_(way) {}

  Expected<Array> allocate(size_t bytes) override;
  // For PeerMemory::expose; nothing = these bytes are in no region, or in one that the peer cannot
  // be handed now.
  std::optional<MemoryKey> key_of(std::span<const std::byte> buffer);
  std::optional<MemoryKey> key_of(std::span<const std::byte> buffer, HandedRegions& handed,
                                  Handover& over);

 private:
  struct Found {
    std::shared_ptr<const SharedRegion> region;
    MemoryKey key;
  };
  std::optional<Found> find(std::span<const std::byte> buffer);

  const size_t least_bytes_;
  const MemoryWay way_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<SharedRegion>> regions_;  // in order of making
};

// The regions of one peer that this rank has mapped. Used by one thread.
class PeerRegions {
 public:
  // For PeerMemory::map; `over`: where regions are handed over, else null.
  Expected<MappedBytes> map(const MemoryKey& key, uint64_t bytes, Handover* over = nullptr);

 private:
  // The peer has at most kMostHandedRegions, and as many more that are just being given up.
  static constexpr size_t kMostHanded = 2 * SharedArrays::kMostHandedRegions;

  struct Mapped {
    SharedMemoryName name;
    uint64_t id = 0;
    std::shared_ptr<const SharedMemory> memory;
  };
  Status open_named(const SharedMemoryName& name, uint64_t id, uint64_t bytes);
  Status take_handed(uint64_t id, Handover& over);
  void forget_given_up();

  std::vector<Mapped> mapped_;
};

}  // namespace plumbline
