// A ByteStream is one ordered, non-blocking, full-duplex pipe of bytes to one peer: a TCP socket, a
// pair of rings in memory, or a wrapper that spoils one of these on purpose. Framing, matching and
// checksums live above it (channel.h), so that every transport shares them. What only some can do
// has a default here that says "not I". One thread at a time may use a stream (the rank's own
// thread).
#pragma once

#include <poll.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "transport/peer_memory.h"

namespace plumbline {

class RdmaPort;

// What the kernel knows of a stream; absent where the platform or the transport does not say.
struct StreamStats {
  std::string local, remote;                         // "127.0.0.1:40000"
  std::string congestion_control;                    // in effect, "reno"
  std::optional<int> mss;                            // bytes
  std::optional<uint64_t> send_buffer, recv_buffer;  // bytes, as granted
  std::optional<double> rtt_us;
  std::optional<uint64_t> retransmits;    // segments, total
  std::optional<uint64_t> unacked_bytes;  // sent, not yet acknowledged (approximate)
  std::optional<uint64_t> unsent_bytes;   // in the send buffer, not yet sent
  std::optional<uint64_t> peer_window;    // bytes the peer's receive window still allows
  uint64_t writes = 0, reads = 0;         // system calls that it has made, of its own counting
  bool progress_thread = false;           // one of the rank writes for it
  // Of a stream made of several, which are its sum: each by itself.
  std::vector<StreamStats> parts = {};
};

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Writes what fits now of the buffers, in order; returns bytes taken, 0 = would block. Failure =
  // the stream is dead.
  virtual Expected<size_t> write_some(std::span<const iovec> buffers) = 0;
  // Reads what is there now into the buffers, in order; 0 = would block. End of stream is an error
  // (kPeerLost).
  virtual Expected<size_t> read_some(std::span<const iovec> buffers) = 0;
  // Bytes that have come and may be used where they lie until consumed() takes some off the front;
  // empty = none, or only read_some() gets at them.
  virtual std::span<const std::byte> readable() { return {}; }
  virtual void consumed(size_t /*bytes*/) {}
  // Whatever read_some() would tell now, bytes, an end or an error, readable() has shown: while
  // that is empty there is no need to ask.
  virtual bool shows_all() const { return false; }
  // To be called when one stops consuming for now: whoever waits for room may be told only then.
  virtual void settle() {}
  // Memory of the peer that this end may reach, and the other way round; null = none. Good for the
  // stream's life; may appear once ready() holds.
  virtual PeerMemory* peer_memory() { return nullptr; }
  // A second stream to the same peer, for large messages only, so that small ones need not wait
  // behind them; null = they go through this one. It is this stream's, and there from the start.
  virtual ByteStream* bulk() { return nullptr; }
  // Where the channels of a rank count the messages that they await over this stream and its like,
  // for a stream that writes in another way while there is something to read; null = nobody asks.
  virtual size_t* awaited() { return nullptr; }
  // Adds what poll(2) shall look at, for whoever waits for bytes to move in these directions. false
  // = nothing there would wake: only spinning and short sleeps can wait for this stream.
  virtual bool add_to(std::vector<pollfd>& poll, bool reads, bool writes) const = 0;
  // While poll(2) reports nothing of that, no bytes can move: a look there is as good as a try.
  virtual bool told_by_poll() const { return false; }
  // To be called before sleeping on that: a stream whose peer has to call in order to wake us asks
  // for the call. true = bytes may move already, do not sleep.
  virtual bool arm(bool /*reads*/, bool /*writes*/) { return false; }
  // Have both ends come to terms, so that bytes can move? Asking moves that on and waits for
  // nothing; until then, reading and writing do the same and move nothing.
  virtual Expected<bool> ready() { return true; }
  // Once ready() holds: what its bytes go through, for whoever wants no step between. One that came
  // to nothing more than the stream below it gives that, which lives as long as this one.
  virtual ByteStream* settled() { return this; }
  // Buffers of a write that took nothing may be looked at until the same write is tried again or
  // this is called, after which nothing may be written any more.
  virtual void release() {}
  // Called every 100 ms while the rank waits for anybody, also for a stream that nothing is asked
  // of: for what one end has to tell the other now and then.
  virtual void keep_up() {}
  // Where its bytes go over RDMA: on what further queue pairs to the same peer can be made, for
  // whoever measures these alone; one for each cable. Empty = they do not.
  virtual std::vector<std::shared_ptr<RdmaPort>> rdma_ports() const { return {}; }
  virtual StreamStats stats() const = 0;
  // Ends both directions; later calls fail. Idempotent.
  virtual void close() = 0;
};

// For add_to() of a stream with one descriptor.
inline pollfd poll_entry(int fd, bool reads, bool writes) {
  return {fd, static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)), 0};
}

}  // namespace plumbline
