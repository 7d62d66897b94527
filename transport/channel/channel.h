// A Channel carries messages to and from one peer over a ByteStream. A message is named by (group,
// sequence, step) and may be larger than memory wants at once: it travels as frames of at most
// chunk_bytes, each behind a 40-byte header that goes out in the same system call, with a CRC-32C
// of header and payload when asked. Sends may be posted before all their bytes are there (`ready`
// grows), and received bytes are handed to a sink as they come, so that reducing and forwarding
// start on the first bytes. Large messages do not go through the stream at all where the receiver
// reaches the sender's memory (rendezvous.h). Frames of several messages interleave; a frame that
// nobody has posted yet stays in the stream as back pressure, or is parked (bounded by park_bytes)
// when something posted might wait behind it. A stream may bring a second one along for large
// messages (ByteStream::bulk()): then each of the two is a lane of its own (lane.h). Not
// thread-safe: the rank's own thread posts and progresses; observers are called from inside
// progress() or post_*().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "transport/channel/byte_stream.h"
#include "transport/peer_memory.h"

namespace plumbline {

// Names a message. No two messages of one direction may bear the same (group, sequence, step) at
// one time.
struct MessageTag {
  uint32_t group = 0;     // communicator id
  uint32_t sequence = 0;  // operation number inside the group, same on all ranks
  uint32_t step = 0;      // message number between this pair inside the operation
  uint32_t op_hash = 0;  // fingerprint of the operation (op, dtype, bytes, redop, root, algorithm);
                         // differing = kMismatch
  bool operator==(const MessageTag&) const = default;
};

// Two ranks that run different operations under one number: seen by the hash, put into words by the
// Group.
struct HashMismatch {
  uint32_t sequence = 0;
  uint32_t ours = 0, theirs = 0;
};

// Receives the payload of one message, in order. Must stay alive until it has got all its bytes or
// the channel is cancelled.
class RecvSink {
 public:
  virtual ~RecvSink() = default;
  // Where the next bytes of the message may be put: non-empty while bytes are missing. The channel
  // may fill less of it.
  virtual std::span<std::byte> window() = 0;
  // The first `bytes` of window() now hold payload.
  virtual void advance(size_t bytes) = 0;
  // For sinks that use payload where it lies, without a copy: how many of the next bytes, which
  // lie here, they want so. 0 = window() is to be filled.
  virtual size_t usable(std::span<const std::byte> /*bytes*/) { return 0; }
  // In place of advance(): so many, which are gone when this returns.
  virtual void use(std::span<const std::byte> /*bytes*/) {}
  // window() is this sink's own until advance(): it may be filled while others get their bytes.
  virtual bool keeps_window() const { return false; }
};

class SendObserver {
 public:
  virtual ~SendObserver() = default;
  // All bytes of the message posted with this cookie were taken by the stream; its memory is free
  // again.
  virtual void sent(uint64_t cookie) = 0;
  // Of its messages: a transport may offer them differently (PeerMemory::expose).
  virtual MessageUse use() const { return MessageUse::kUnknown; }
};

// CRC-32C continued from `crc` (0 to start).
using CrcFunction = uint32_t (*)(uint32_t crc, const void* data, size_t bytes);

struct ChannelOptions {
  static constexpr size_t kNothingDirect = static_cast<size_t>(-1);

  size_t chunk_bytes = 256 * 1024;  // largest payload of one frame,
  size_t whole_bytes = 0;  // but a message of up to so many bytes is one; both ends must agree
  bool crc = false;        // CRC-32C over header and payload of every frame; both ends must agree
  CrcFunction crc32c = nullptr;   // a fast implementation; null = a table (slow, same sums)
  size_t park_bytes = 64u << 20;  // most bytes of unexpected messages held in memory, of each lane
  // Messages of at least so many bytes go over the bulk stream where there is one; the same on both
  // ends, so that each knows by a message's size where it comes.
  size_t bulk_bytes = 128 * 1024;
  // Messages of at least so many bytes are taken from the sender's memory where the stream can.
  size_t direct_bytes = kNothingDirect;
};
// What sums the frames of such a channel: its own choice, else the table; null = no checksums.
CrcFunction crc_of(const ChannelOptions& options);

struct ChannelStats {
  uint64_t payload_sent = 0, payload_received = 0;  // bytes
  uint64_t wire_sent = 0, wire_received = 0;        // with headers
  uint64_t frames_sent = 0, frames_received = 0;
  uint64_t write_calls = 0, read_calls = 0;  // of the stream
  uint64_t parked_bytes_peak = 0;
  // Of the payload: taken from the sender's memory, mapped or read. It counts as sent when the peer
  // has taken it.
  uint64_t direct_sent = 0, direct_received = 0;
  // Received bytes that a sink used where they lay, and those that we copied once more on their way
  // to it (from the stage, a ring or the park); the others a stream put straight into its window,
  // or the system read to where the sink used them.
  uint64_t in_place_bytes = 0, copied_bytes = 0;
};

// Why nothing moves on a channel; of several the larger says more.
enum class Stall : uint8_t {
  kPeerLate,   // nothing of what it waits for has come
  kReceiving,  // a part of it has
  kSendFull,   // the stream takes no more of what is ready
  kParkFull,   // a message that nobody expects yet stands before what is awaited
};
inline constexpr size_t kStalls = 4;

class Channel {
 public:
  using SendId = uint64_t;

  Channel(int self, int peer, std::unique_ptr<ByteStream> stream, const ChannelOptions& options);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int peer() const;

  // Queues a message of `bytes` at `data`; the first `ready` of them may go at once, the rest when
  // extend_send says so. Tries to write immediately. `observer` may be null. Ready frames of the
  // lowest sequence go first; inside one operation the most recently extended message goes first,
  // because its bytes are still in cache. A message of 0 bytes is one empty frame.
  SendId post_send(const MessageTag& tag, const void* data, size_t bytes, size_t ready,
                   SendObserver* observer, uint64_t cookie);
  void extend_send(SendId id, size_t ready);
  // Expects a message of exactly `bytes`; bytes that were parked already are delivered before this
  // returns (when posted from inside a callback: before the outermost call returns). A sink for 0
  // bytes gets one advance(0).
  void post_recv(const MessageTag& tag, size_t bytes, RecvSink* sink);

  // Moves what can be moved without waiting. true = something moved. A failure is final: every
  // later call returns it again.
  Expected<bool> progress();

  // Receives are posted and nothing holds their bytes back; ready bytes wait for the stream. Both
  // are true after a failure, so that it gets noticed.
  bool wants_read() const;
  bool wants_write() const;
  // ByteStream::add_to() for what is wanted now, and whether nothing but that moves this channel;
  // arm(): the same of ByteStream::arm().
  bool add_to(std::vector<pollfd>& poll) const;
  bool arm();
  bool told_by_poll() const;
  bool idle() const;  // nothing posted, nothing queued, nothing parked
  // The peer has yet to hear that something was taken from its memory: its send ends only then.
  bool owes() const;
  // Forgets posted sinks and sends (their owner goes away). The channel is unusable for data
  // afterwards.
  void cancel(const Error& reason);
  // monotonic_ns() of the last byte moved in either direction, as far as somebody looked:
  // note_time(now) stamps what moved since it was called last. Reading the clock for every message
  // would cost more than the rest of a small one.
  void note_time(int64_t now_ns);
  int64_t last_progress_ns() const;

  // What this channel waits for, oldest first: its first posted receive, its first unfinished send.
  std::optional<MessageTag> waiting_recv() const;
  std::optional<MessageTag> waiting_send() const;
  // After a progress() that moved nothing; none = it waits for nothing.
  std::optional<Stall> stall() const;
  // In words why arrived bytes are not being read, empty when they are: a frame that nobody expects
  // stands in the way.
  std::string obstacle() const;
  // Set when the failure was a different operation of the peer.
  const std::optional<HashMismatch>& hash_mismatch() const;

  const ChannelStats& stats() const;
  // That messages of so many bytes go through: for roofs (bare-socket measurements on the very
  // path) while idle() on both ends.
  ByteStream& stream(size_t bytes = 0);
  // What one write of such a message takes at most.
  size_t write_bytes(size_t bytes) const;
  StreamStats stream_stats() const;
  // How the peer reaches memory of ours, and we reach its, where messages of so many bytes do not
  // go through the stream; null = they do.
  PeerMemory* memory_for(size_t bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plumbline
