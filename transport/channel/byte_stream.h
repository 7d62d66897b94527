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

#include "core/error.h"

namespace plumbline {

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
  // Descriptor for poll(2), or -1: then only spinning and short sleeps can wait for it.
  virtual int poll_fd() const = 0;
  // What poll(2) shall look for there, for whoever waits for bytes to move in these directions.
  virtual short poll_events(bool reads, bool writes) const {
    return static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
  }
  // To be called before sleeping on that: a stream whose peer has to call in order to wake us asks
  // for the call. true = bytes may move already, do not sleep.
  virtual bool arm(bool /*reads*/, bool /*writes*/) { return false; }
  // Have both ends come to terms, so that bytes can move? Asking moves that on and waits for
  // nothing; until then, reading and writing do the same and move nothing.
  virtual Expected<bool> ready() { return true; }
  virtual StreamStats stats() const = 0;
  // Ends both directions; later calls fail. Idempotent.
  virtual void close() = 0;
};

}  // namespace plumbline
