// Bytes and texts that ranks exchange beside the data: little-endian integers and length-prefixed
// texts, written to a growing buffer and read back with bounds checks; what differs between two
// configurations; a peer's text made fit to be shown. A reader that ran over the end turns bad and
// yields zeros, so that a decoder checks once, at its end. Not for the data path. Not thread-safe,
// but for the functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

class WireWriter {
 public:
  void u8(uint8_t value) { integer(value, 1); }
  void u16(uint16_t value) { integer(value, 2); }
  void u32(uint32_t value) { integer(value, 4); }
  void u64(uint64_t value) { integer(value, 8); }
  void bytes(std::span<const std::byte> data) {
    buffer_.insert(buffer_.end(), data.begin(), data.end());
  }
  // Two bytes of length, then the text, cut at `limit` bytes (at most 65535).
  void text(std::string_view value, size_t limit);

  std::span<const std::byte> view() const { return buffer_; }
  std::vector<std::byte> take() { return std::move(buffer_); }

 private:
  void integer(uint64_t value, int width);
  std::vector<std::byte> buffer_;
};

class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> data) : data_(data) {}
  uint8_t u8() { return static_cast<uint8_t>(integer(1)); }
  uint16_t u16() { return static_cast<uint16_t>(integer(2)); }
  uint32_t u32() { return static_cast<uint32_t>(integer(4)); }
  uint64_t u64() { return integer(8); }
  void bytes(std::span<std::byte> out);
  std::string text();

  // Everything asked for was there.
  bool ok() const { return ok_; }
  // ... and nothing is left.
  bool complete() const { return ok_ && data_.empty(); }

 private:
  uint64_t integer(int width);
  std::span<const std::byte> data_;
  bool ok_ = true;
};

// Makes text of a peer fit for a log line or an error: control characters become '?', at most
// `limit` bytes are kept.
std::string printable(std::string_view text, size_t limit);

// The keys of two "key=value\n" texts that differ, both values with them: "transport_crc: rank 0
// has off, rank 1 has on". A few at most; empty = none. The texts may come from anybody.
std::string config_differences(const std::string& a, int rank_a, const std::string& b, int rank_b);

}  // namespace plumbline
