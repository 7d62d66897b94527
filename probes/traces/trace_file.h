// Readers of capture files: pcap (pcap-savefile(5); micro- and nanoseconds, either byte order) and
// pcapng (draft-ietf-opsawg-pcapng: section header, interface description, enhanced and simple
// packet blocks, any number of sections and interfaces, either byte order). A record that lies
// about its length ends the reading, because nothing behind it can be trusted. Memory: one record.
// A reader belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/fd.h"

namespace plumbline {

// Bytes of a capture, in order, from a file that is never held in memory as a whole or from memory.
// Pieces are handed out as pointers into a buffer, so that a record costs no copy.
class ByteReader {
 public:
  // Largest piece that take() and peek() give: a captured packet is smaller.
  static constexpr size_t kMaxPiece = size_t{1} << 20;

  // kConfig when the file cannot be opened or is a folder.
  static Expected<ByteReader> open(const std::string& path);
  // `bytes` must outlive the reader.
  static ByteReader over(std::string_view bytes);

  // The next `n` bytes, valid until the next call; nullptr when fewer are left.
  const uint8_t* take(size_t n);
  const uint8_t* peek(size_t n);
  // False when fewer than `n` bytes were left; all of them are gone then.
  bool skip(uint64_t n);
  // True when nothing is left.
  bool at_end() { return peek(1) == nullptr; }
  int read_errno() const { return errno_; }  // 0 = no read failed

 private:
  size_t left() const { return size_ - at_; }
  void fill(size_t n);

  Fd fd_;
  std::vector<uint8_t> buffer_;  // only for files
  const uint8_t* bytes_ = nullptr;
  size_t at_ = 0, size_ = 0;
  bool ended_ = false;
  int errno_ = 0;
};

// One packet as the file has it. `data` is valid until the next call of next().
struct RawPacket {
  int64_t at_ns = 0;  // since 1970-01-01 UTC
  uint32_t link = 0;  // LINKTYPE_ number (tcpdump.org/linktypes.html)
  uint32_t interface = 0;
  uint8_t direction = 0;  // 0 unknown, 1 came in, 2 went out
  const uint8_t* data = nullptr;
  size_t captured = 0;    // bytes at `data`
  uint32_t wire_len = 0;  // bytes on the wire, at least `captured`
};

class TraceFile {
 public:
  virtual ~TraceFile() = default;
  // False at the end, or where nothing behind can be read; `truncated` and `problems` say which.
  virtual bool next(RawPacket& packet) = 0;

  std::string format;           // "pcap" | "pcap-ns" | "pcapng"
  std::vector<uint32_t> links;  // link types that occur, in order
  bool several_places = false;  // packets may come from more than one interface
  bool truncated = false;       // ends in the middle of a record
  std::vector<std::string> problems;

 protected:
  explicit TraceFile(ByteReader reader) : reader_(std::move(reader)) {}
  // All that end the reading return false, for next().
  bool stop() {
    done_ = true;
    return false;
  }
  // Fewer bytes are left than were asked for: nothing at all, half a record, or a failed read.
  bool note_end();
  // Nothing behind this can be trusted.
  bool lies(const std::string& claim);

  ByteReader reader_;
  bool done_ = false;
};

// kConfig when the bytes begin no capture; `name` for the message.
Expected<std::unique_ptr<TraceFile>> open_trace_file(ByteReader reader, const std::string& name);
// The second half of it: pcapng_file.cc.
std::unique_ptr<TraceFile> open_pcapng(ByteReader reader);

// "ethernet", "linux-sll2" ...; "type 105" for those that are not understood.
std::string link_name(uint32_t link);

// 16 and 32 bits at `p`, in the file's byte order.
inline uint16_t file_u16(const uint8_t* p, bool big) {
  return static_cast<uint16_t>(big ? (p[0] << 8) | p[1] : (p[1] << 8) | p[0]);
}
inline uint32_t file_u32(const uint8_t* p, bool big) {
  return big ? (uint32_t{p[0]} << 24) | (uint32_t{p[1]} << 16) | (uint32_t{p[2]} << 8) | p[3]
             : (uint32_t{p[3]} << 24) | (uint32_t{p[2]} << 16) | (uint32_t{p[1]} << 8) | p[0];
}

}  // namespace plumbline
