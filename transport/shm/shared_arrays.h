// Arrays that the other ranks of this machine may map. Each rank cuts its arrays out of regions of
// shared memory and tells a peer which region holds one and where it begins; the peer maps the
// region, read-only, once. A region that is given up says so in its first bytes, so that peers let
// go of it, and its pages are given back at once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "transport/peer_memory.h"
#include "transport/shm/shared_memory.h"

namespace plumbline {

// One region and what has been cut out of it.
class SharedRegion;

class SharedArrays : public ArrayPool {
 public:
  // Shared from so many bytes on, and where there is enough; other arrays are this process's alone.
  explicit SharedArrays(size_t least_bytes) : least_bytes_(least_bytes) {}

  Expected<Array> allocate(size_t bytes) override;
  // For PeerMemory::expose; nothing = these bytes are in no region.
  std::optional<MemoryKey> key_of(std::span<const std::byte> buffer);

 private:
  const size_t least_bytes_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<SharedRegion>> regions_;  // in order of making
};

// The regions of one peer that this rank has mapped. Used by one thread.
class PeerRegions {
 public:
  // For PeerMemory::map.
  Expected<MappedBytes> map(const MemoryKey& key, uint64_t bytes);

 private:
  struct Mapped {
    SharedMemoryName name;
    uint64_t id = 0;
    std::shared_ptr<const SharedMemory> memory;
  };
  std::vector<Mapped> mapped_;
};

}  // namespace plumbline
