// The frame: 40 bytes of header, then payload. One message is one or more frames in order; frames
// of different messages may alternate on a stream. Little-endian on every machine:
//
//   offset size field
//        0    2 magic      "PL"
//        2    1 version
//        3    1 kind (upper four bits) and flags (lower four bits)
//        4    4 group      communicator id
//        8    4 sequence   operation number inside the group
//       12    4 step       message number between this pair inside the operation
//       16    4 op_hash    fingerprint of the operation
//       20    6 total      bytes of the whole message
//       26    6 offset     of this frame's payload in the message
//       32    4 length     payload bytes of this frame
//       36    4 crc        CRC-32C of header (with this field zero) and payload; 0 without
//       kFrameCrc
//
// Whatever arrives is hostile until decode_frame has accepted it. Pure functions, thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/error.h"
#include "transport/channel/channel.h"

namespace plumbline {

inline constexpr size_t kFrameHeaderBytes = 40;
inline constexpr uint8_t kFrameVersion = 1;
inline constexpr uint8_t kFrameLast = 1;  // flag: the message ends with this frame
inline constexpr uint8_t kFrameCrc = 2;   // flag: the crc field is filled in
inline constexpr uint64_t kMaxMessageBytes = (uint64_t{1} << 48) - 1;

// All but data are about a message that goes from memory to memory (rendezvous.h); they have no
// flags and no checksum.
enum class FrameKind : uint8_t {
  kData = 1,
  kOffer = 2,  // payload: the packed key of its memory; offset: bytes that may be taken, 0 where
               // the sender writes
  kGrow = 3,   // offset: bytes that may be taken by now
  kTaken = 4,  // back to the sender: all have been; offset: their number
  kGrant = 5,  // back to a sender that writes; payload: the packed key of a window for the bytes
               // from the end of the last one, or of the message's beginning, to offset
};

struct FrameHeader {
  FrameKind kind = FrameKind::kData;
  MessageTag tag;
  uint64_t total = 0;   // bytes of the message
  uint64_t offset = 0;  // of this frame in it
  uint32_t length = 0;  // payload bytes that follow
  uint8_t flags = 0;
  uint32_t crc = 0;

  bool last() const { return (flags & kFrameLast) != 0; }
  bool operator==(const FrameHeader&) const = default;
};

using FrameBytes = std::array<std::byte, kFrameHeaderBytes>;

// What the receiver knows about the frames of this stream.
struct FrameRules {
  int peer = -1;            // named in errors
  uint64_t max_length = 0;  // largest payload of one frame, bytes
  bool crc = false;         // whether frames carry a checksum
};

FrameBytes encode_frame(const FrameHeader& header);
// kProtocol with the peer, the field and its value when the bytes cannot be one of our headers.
Expected<FrameHeader> decode_frame(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                   const FrameRules& rules);

// CRC-32C (Castagnoli; RFC 3720 appendix B.4) eight bytes at a step from tables: the fallback where
// no faster function is handed in. crc32c_table(0, "123456789", 9) == 0xE3069283; a long text is
// summed in pieces by passing the result of one piece on to the next.
uint32_t crc32c_table(uint32_t crc, const void* data, size_t bytes);
// Checksum of the encoded header with its crc field taken as zero: where a frame's sum starts.
uint32_t frame_header_crc(std::span<const std::byte, kFrameHeaderBytes> bytes, CrcFunction crc32c);
// Writes the finished sum into an encoded header.
void set_frame_crc(FrameBytes& bytes, uint32_t crc);

}  // namespace plumbline
