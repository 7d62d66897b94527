#include "transport/channel/frame.h"

#include <fmt/format.h>

#include <string>

#include "transport/peer_memory.h"

namespace plumbline {
namespace {

constexpr uint64_t kMagic = 0x4c50;  // 'P', 'L'

// Where each field lies: see the table in frame.h.
enum Offset : size_t {
  kAtMagic = 0,
  kAtVersion = 2,
  kAtKind = 3,
  kAtGroup = 4,
  kAtSequence = 8,
  kAtStep = 12,
  kAtHash = 16,
  kAtTotal = 20,
  kAtOffset = 26,
  kAtLength = 32,
  kAtCrc = 36,
};

// In loops that the compiler makes one store or load of; six bytes are four and two.
template <size_t Bytes>
void put(std::byte* at, uint64_t value) {
  if constexpr (Bytes == 6) {
    put<4>(at, value);
    return put<2>(at + 4, value >> 32);
  }
  for (size_t i = 0; i < Bytes; ++i) at[i] = static_cast<std::byte>((value >> (8 * i)) & 0xff);
}

template <size_t Bytes>
uint64_t get(const std::byte* at) {
  if constexpr (Bytes == 6) return get<4>(at) | get<2>(at + 4) << 32;
  uint64_t value = 0;
  for (size_t i = 0; i < Bytes; ++i) value |= std::to_integer<uint64_t>(at[i]) << (8 * i);
  return value;
}

uint32_t get32(const std::byte* at) { return static_cast<uint32_t>(get<4>(at)); }

tl::unexpected<Error> bad(const FrameRules& rules, const std::string& field) {
  return fail(
      ErrorCode::kProtocol, fmt::format("frame from rank {}: {}", rules.peer, field),
      "the bytes are not those of a plumbline rank of this version, or they were damaged on "
      "the way; --crc on finds the latter");
}

// The relations between the fields of a frame that is no data.
std::string control_inconsistency(const FrameHeader& header, const FrameRules& rules) {
  if (rules.crc) {
    return fmt::format("kind is {} but this rank has checksums on", static_cast<int>(header.kind));
  }
  if (header.flags != 0 || header.crc != 0) {
    return fmt::format("flags {:#x} and crc field {:#x} in a frame of kind {}", header.flags,
                       header.crc, static_cast<int>(header.kind));
  }
  const bool offer = header.kind == FrameKind::kOffer;
  const bool has_key = offer || header.kind == FrameKind::kGrant;
  if (has_key ? header.length == 0 || header.length > MemoryKey::kMostPacked : header.length != 0) {
    return fmt::format("length {} in a frame of kind {}", header.length,
                       static_cast<int>(header.kind));
  }
  if (header.total == 0 || (header.offset == 0 && !offer) || header.offset > header.total ||
      (header.kind == FrameKind::kTaken && header.offset != header.total)) {
    return fmt::format("offset {} of {} bytes in a frame of kind {}", header.offset, header.total,
                       static_cast<int>(header.kind));
  }
  return {};
}

// The relations between the fields, once each of them is readable.
std::string inconsistency(const FrameHeader& header, const FrameRules& rules) {
  if (header.kind != FrameKind::kData) return control_inconsistency(header, rules);
  if (header.length > rules.max_length) {
    return fmt::format("length {} is above the limit of {} bytes (chunk_bytes)", header.length,
                       rules.max_length);
  }
  if (header.offset > header.total || header.length > header.total - header.offset) {
    return fmt::format("offset {} + length {} is beyond the message's {} bytes", header.offset,
                       header.length, header.total);
  }
  const bool ends = header.offset + header.length == header.total;
  if (ends != header.last()) {
    return fmt::format("LAST flag is {} at offset {} + length {} of {} bytes",
                       header.last() ? "set" : "missing", header.offset, header.length,
                       header.total);
  }
  if (header.length == 0 && header.total != 0) {
    return fmt::format("length 0 in a message of {} bytes", header.total);
  }
  const bool crc = (header.flags & kFrameCrc) != 0;
  if (crc != rules.crc) {
    return fmt::format("CRC flag is {} but this rank has checksums {}", crc ? "set" : "missing",
                       rules.crc ? "on" : "off");
  }
  if (!crc && header.crc != 0) {
    return fmt::format("crc field is {:#x} without the CRC flag", header.crc);
  }
  return {};
}

// kTables[k][b]: the sum of byte b followed by k zero bytes.
using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

constexpr CrcTables make_crc_tables() {
  CrcTables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    tables[0][i] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t i = 0; i < 256; ++i) {
      const uint32_t crc = tables[k - 1][i];
      tables[k][i] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}

constexpr CrcTables kTables = make_crc_tables();

}  // namespace

FrameBytes encode_frame(const FrameHeader& header) {
  FrameBytes bytes;
  std::byte* at = bytes.data();
  put<2>(at + kAtMagic, kMagic);
  put<1>(at + kAtVersion, kFrameVersion);
  put<1>(at + kAtKind, static_cast<uint64_t>(header.kind) << 4 | header.flags);
  put<4>(at + kAtGroup, header.tag.group);
  put<4>(at + kAtSequence, header.tag.sequence);
  put<4>(at + kAtStep, header.tag.step);
  put<4>(at + kAtHash, header.tag.op_hash);
  put<6>(at + kAtTotal, header.total);
  put<6>(at + kAtOffset, header.offset);
  put<4>(at + kAtLength, header.length);
  put<4>(at + kAtCrc, header.crc);
  return bytes;
}

Expected<FrameHeader> decode_frame(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                   const FrameRules& rules) {
  const std::byte* at = bytes.data();
  if (get<2>(at + kAtMagic) != kMagic) {
    return bad(rules, fmt::format("magic is {:#06x}, expected {:#06x}", get<2>(at), kMagic));
  }
  const uint64_t version = get<1>(at + kAtVersion);
  if (version != kFrameVersion) {
    return bad(rules, fmt::format("version is {}, expected {}", version, kFrameVersion));
  }
  const uint64_t kind = get<1>(at + kAtKind) >> 4;
  constexpr auto kFirst = static_cast<uint64_t>(FrameKind::kData);
  constexpr auto kLast = static_cast<uint64_t>(FrameKind::kGrant);
  if (kind < kFirst || kind > kLast) {
    return bad(rules, fmt::format("kind is {}, expected {} to {}", kind, kFirst, kLast));
  }
  FrameHeader header;
  header.kind = static_cast<FrameKind>(kind);
  header.flags = static_cast<uint8_t>(get<1>(at + kAtKind) & 0xf);
  if ((header.flags & ~(kFrameLast | kFrameCrc)) != 0) {
    return bad(rules, fmt::format("unknown flags {:#x}", header.flags));
  }
  header.tag = {get32(at + kAtGroup), get32(at + kAtSequence), get32(at + kAtStep),
                get32(at + kAtHash)};
  header.total = get<6>(at + kAtTotal);
  header.offset = get<6>(at + kAtOffset);
  header.length = get32(at + kAtLength);
  header.crc = get32(at + kAtCrc);
  const std::string wrong = inconsistency(header, rules);
  if (!wrong.empty()) return bad(rules, wrong);
  return header;
}

uint32_t crc32c_table(uint32_t crc, const void* data, size_t bytes) {
  const std::byte* at = static_cast<const std::byte*>(data);
  crc = ~crc;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    const uint64_t word = get<8>(at) ^ crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i) crc ^= kTables[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (; bytes > 0; --bytes, ++at) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<uint32_t>(*at)) & 0xff];
  }
  return ~crc;
}

uint32_t frame_header_crc(std::span<const std::byte, kFrameHeaderBytes> bytes, CrcFunction crc32c) {
  FrameBytes copy;
  for (size_t i = 0; i < copy.size(); ++i) copy[i] = bytes[i];
  put<4>(copy.data() + kAtCrc, 0);
  return crc32c(0, copy.data(), copy.size());
}

void set_frame_crc(FrameBytes& bytes, uint32_t crc) { put<4>(bytes.data() + kAtCrc, crc); }

}  // namespace plumbline
