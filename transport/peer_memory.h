// Memory that the peer at the other end of a stream may reach by itself, so that a large message
// need not go through the stream: the sender exposes the bytes and sends a key, the receiver maps
// them and works on them where they lie, or reads them to where it needs them; or, where only
// writing works, the receiver grants windows of its own memory and the sender writes there
// (transport/channel/rendezvous.h says how the two ends agree). What a stream can do of this it
// says by ByteStream::peer_memory() and PeerAbilities. Arrays that come from Group::allocate can be
// mapped wherever the transport knows a way; others have to be read, or go through the stream. One
// thread at a time, as the stream itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/error.h"

namespace plumbline {

// Where bytes lie. A rank takes none of a kind that it does not know.
enum class MemoryKind : uint8_t { kHost = 1 };

// How the bytes of a message get from the one memory to the other.
enum class MemoryReach : uint8_t {
  kMap = 1,    // the receiver has them in its address space: PeerMemory::map
  kRead = 2,   // the receiver reads them: PeerMemory::start_read
  kWrite = 3,  // the sender writes them: PeerMemory::start_write, to windows from grant()
};

// What one end tells the other about some of its bytes; only the transport reads what is in it.
struct MemoryKey {
  static constexpr size_t kMostPacked = 64;
  static constexpr size_t kMostBytes = kMostPacked - 1;

  MemoryReach reach = MemoryReach::kMap;
  MemoryKind kind = MemoryKind::kHost;
  std::array<std::byte, kMostBytes> bytes{};
  size_t size = 0;  // of `bytes`, in use

  std::span<const std::byte> view() const { return std::span(bytes).first(size); }
};

// On the wire: a byte of kind and reach, and the transport's own.
using PackedKey = std::array<std::byte, MemoryKey::kMostPacked>;
size_t packed_size(const MemoryKey& key);
PackedKey pack_key(const MemoryKey& key);
// Nothing = a kind or a reach that this rank does not know, or no key at all.
std::optional<MemoryKey> unpack_key(std::span<const std::byte> packed);

// Bytes of the peer, and what keeps them reachable.
struct MappedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> hold;
};

// What one end of a stream can do to reach the memory of the other.
struct PeerAbilities {
  bool maps = false;
  bool reads = false;
  bool writes = false;  // to windows that the other end grants, and grants such itself
  // Why not, where the transport could and the system does not let it; for people.
  std::string no_reads = {};

  bool has(MemoryReach reach) const {
    return reach == MemoryReach::kMap ? maps : reach == MemoryReach::kRead ? reads : writes;
  }
};

// What is known of a message beside its bytes.
enum class MessageUse : uint8_t {
  kUnknown,
  // Every rank sends and receives such ones alike at this time, and receivers only put them where
  // they belong: where whoever reads takes time from others, as a processor does, reading may pay
  // with them only.
  kAllCopy,
  // Its memory is written again as soon as it was taken: of what is read where it lies, each line
  // goes to the other processor and back.
  kRewritten,
};

class PeerMemory {
 public:
  virtual ~PeerMemory() = default;

  virtual PeerAbilities abilities() const = 0;

  // Of this rank: what the peer needs in order to reach these bytes for as long as they exist;
  // nothing = it has no way to, or none that pays. Cheap: what has been prepared for it once is
  // found again. A key of kWrite, which may be empty, says that this rank will write them to
  // windows of the peer.
  virtual std::optional<MemoryKey> expose(std::span<const std::byte> buffer, MessageUse use) = 0;
  // Of the peer: the `bytes` that it has exposed by this key, for plain loads. kProtocol and others
  // for a key that cannot be, or is no longer.
  virtual Expected<MappedBytes> map(const MemoryKey& key, uint64_t bytes);
  // Around every use of a message's mapped bytes, not nested: from a begin_use() that says yes to
  // end_use() the peer waits in its end_transfers(), for a while. kPeerLost: it has called that,
  // and the bytes may be, or have been, any.
  virtual Status begin_use() { return {}; }
  virtual Status end_use() { return {}; }

  // Of the peer: begins to copy some of the `bytes` that it has exposed by this key, from `offset`
  // on, to `to`, which has to stay until the read is over. Gives a ticket. What is wrong is said
  // here or by read_done(): as map() does, and kPeerLost when the peer is gone.
  virtual Expected<uint64_t> start_read(const MemoryKey& key, uint64_t bytes, uint64_t offset,
                                        std::span<std::byte> to);
  // Whether all of it is there; moves it on and waits for nothing. With true the ticket is used up.
  virtual Expected<bool> read_done(uint64_t ticket);

  // Of this rank: what the peer needs in order to write to this window, which has to stay until the
  // peer has said that it is full, or until end_transfers(). Not empty.
  virtual Expected<MemoryKey> grant(std::span<std::byte> window);
  // Of the peer: begins to copy `from`, which has to stay until the write is over, to the window of
  // `bytes` that it has granted by this key, from `offset` on. Gives a ticket; errors as for reads.
  virtual Expected<uint64_t> start_write(const MemoryKey& key, uint64_t bytes, uint64_t offset,
                                         std::span<const std::byte> from);
  // Whether all of it lies there, so that a peer which hears of it through the stream finds it.
  // Moves it on and waits for nothing. With true the ticket is used up.
  virtual Expected<bool> write_done(uint64_t ticket);

  // Nothing is written any more to where reads under way were to go, nor to windows granted to the
  // peer, and nothing is taken any more from where writes under way begin; their tickets are void.
  // What this rank has exposed may be freed or overwritten: a peer that reads on, or begins to use
  // what it has mapped, gets an error (kPeerLost), never other bytes.
  virtual void end_transfers() {}
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
