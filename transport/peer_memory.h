// Memory that the peer at the other end of a stream may reach by itself, so that a large message
// need not go through the stream: the sender exposes the bytes and sends a key, the receiver maps
// them and works on them where they lie (transport/channel/rendezvous.h says how the two ends
// agree). What a stream can do of this it says by ByteStream::peer_memory(). Arrays that come from
// Group::allocate can be exposed wherever the transport knows a way; others may have to be copied.
// One thread at a time, as the stream itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/error.h"

namespace plumbline {

// What one end tells the other about some of its bytes; only the transport reads what is in it.
struct MemoryKey {
  static constexpr size_t kMostBytes = 64;

  std::array<std::byte, kMostBytes> bytes{};
  size_t size = 0;  // of `bytes`, in use

  std::span<const std::byte> view() const { return std::span(bytes).first(size); }
};

// Bytes of the peer, and what keeps them reachable.
struct MappedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> hold;
};

class PeerMemory {
 public:
  virtual ~PeerMemory() = default;

  // Of this rank: what the peer needs in order to reach these bytes for as long as they exist;
  // nothing = it has no way to. Cheap: what has been prepared for it once is found again.
  virtual std::optional<MemoryKey> expose(std::span<const std::byte> buffer) = 0;
  // Of the peer: the bytes that it has exposed by this key, for plain loads. kProtocol and others
  // for a key that cannot be, or is no longer.
  virtual Expected<MappedBytes> map(const MemoryKey& key, uint64_t bytes) = 0;
};

// An array of this process; its memory is given back with the last copy of `owner`. Begins at a
// multiple of kArrayAlignment, not initialised.
struct Array {
  std::byte* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<void> owner;
};

// Arrays begin and end at a multiple of so many bytes: a page, so that no two of them share one.
inline constexpr size_t kArrayAlignment = 4096;

// Where the arrays of a group come from. Thread-safe.
class ArrayPool {
 public:
  virtual ~ArrayPool() = default;
  // An Error (kSystem) when there is not so much memory. Where a transport cannot give memory that
  // its peers reach, it gives other memory.
  virtual Expected<Array> allocate(size_t bytes) = 0;
};

// Memory of this process alone, in huge pages where they are granted.
Expected<Array> allocate_array(size_t bytes);

}  // namespace plumbline
