#include "probes/traces/trace_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/file.h"
#include "probes/traces/packet.h"

namespace plumbline {
namespace {

constexpr size_t kHeader = 24, kRecord = 16;

struct Magic {
  uint8_t bytes[4];
  bool big;
  bool nanoseconds;
};
constexpr Magic kMagics[] = {
    {{0xd4, 0xc3, 0xb2, 0xa1}, false, false},
    {{0xa1, 0xb2, 0xc3, 0xd4}, true, false},
    {{0x4d, 0x3c, 0xb2, 0xa1}, false, true},
    {{0xa1, 0xb2, 0x3c, 0x4d}, true, true},
};

class PcapFile : public TraceFile {
 public:
  PcapFile(ByteReader reader, const Magic& magic, uint32_t link)
      : TraceFile(std::move(reader)),
        big_(magic.big),
        nanoseconds_(magic.nanoseconds),
        link_(link) {
    format = nanoseconds_ ? "pcap-ns" : "pcap";
    links.push_back(link);
  }

  bool next(RawPacket& packet) override {
    const uint8_t* record = reader_.take(kRecord);
    if (record == nullptr) return note_end();
    const int64_t seconds = file_u32(record, big_);
    const int64_t fraction = file_u32(record + 4, big_);
    const uint32_t captured = file_u32(record + 8, big_);
    const uint32_t wire = file_u32(record + 12, big_);
    ++count_;
    if (captured > ByteReader::kMaxPiece) {
      return lies(fmt::format("packet {} claims {} captured bytes", count_, captured));
    }
    const uint8_t* data = reader_.take(captured);
    if (data == nullptr) {
      truncated = true;
      return note_end();
    }
    packet = {};
    packet.at_ns = seconds * 1'000'000'000 + (nanoseconds_ ? fraction : fraction * 1000);
    packet.link = link_;
    packet.data = data;
    packet.captured = captured;
    packet.wire_len = std::max(wire, captured);
    return true;
  }

 private:
  bool big_, nanoseconds_;
  uint32_t link_;
  int64_t count_ = 0;
};

Error no_capture(const std::string& name, ByteReader& reader) {
  const uint8_t* start = reader.peek(2);
  if (start == nullptr && reader.read_errno() != 0) {
    return {ErrorCode::kConfig, "read " + name, reader.read_errno(), "", ""};
  }
  const bool gzip = start != nullptr && start[0] == 0x1f && start[1] == 0x8b;
  const bool empty = start == nullptr && reader.at_end();
  const char* is = gzip ? " is compressed" : empty ? " is empty" : " is no capture file";
  return {ErrorCode::kConfig, name + is, 0, gzip ? "gunzip it first" : "expected pcap or pcapng",
          ""};
}

}  // namespace

Expected<ByteReader> ByteReader::open(const std::string& path) {
  ByteReader reader;
  Expected<Fd> file = open_input_file(path);
  if (!file) return fail(file.error());
  reader.fd_ = std::move(*file);
  reader.buffer_.resize(2 * kMaxPiece);
  reader.bytes_ = reader.buffer_.data();
  return reader;
}

ByteReader ByteReader::over(std::string_view bytes) {
  ByteReader reader;
  reader.bytes_ = reinterpret_cast<const uint8_t*>(bytes.data());
  reader.size_ = bytes.size();
  reader.ended_ = true;
  return reader;
}

// Tries to have at least `n` bytes in the buffer.
void ByteReader::fill(size_t n) {
  if (ended_) return;
  if (at_ + n > buffer_.size()) {
    std::memmove(buffer_.data(), buffer_.data() + at_, left());
    size_ -= at_;
    at_ = 0;
  }
  while (left() < n) {
    const ssize_t got = ::read(fd_.get(), buffer_.data() + size_, buffer_.size() - size_);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      errno_ = got < 0 ? errno : 0;
      ended_ = true;
      return;
    }
    size_ += static_cast<size_t>(got);
  }
}

const uint8_t* ByteReader::peek(size_t n) {
  if (n > kMaxPiece) return nullptr;
  if (left() < n) fill(n);
  return left() < n ? nullptr : bytes_ + at_;
}

const uint8_t* ByteReader::take(size_t n) {
  const uint8_t* piece = peek(n);
  if (piece != nullptr) at_ += n;
  return piece;
}

bool ByteReader::skip(uint64_t n) {
  while (n > 0) {
    if (left() == 0) fill(1);
    if (left() == 0) return false;
    const auto step = static_cast<size_t>(std::min<uint64_t>(n, left()));
    at_ += step;
    n -= step;
  }
  return true;
}

bool TraceFile::note_end() {
  truncated = truncated || !reader_.at_end();
  if (reader_.read_errno() != 0) {
    problems.push_back("reading failed: " + errno_name(reader_.read_errno()));
  }
  return stop();
}

bool TraceFile::lies(const std::string& claim) {
  problems.push_back(claim + ": the file is damaged, nothing after it was read");
  return stop();
}

Expected<std::unique_ptr<TraceFile>> open_trace_file(ByteReader reader, const std::string& name) {
  const uint8_t* start = reader.peek(4);
  if (start == nullptr) return fail(no_capture(name, reader));
  if (file_u32(start, true) == 0x0a0d0d0a) return open_pcapng(std::move(reader));
  for (const Magic& magic : kMagics) {
    if (!std::equal(magic.bytes, magic.bytes + 4, start)) continue;
    const uint8_t* header = reader.take(kHeader);
    if (header == nullptr) {
      return fail(ErrorCode::kConfig, name + " ends inside its header", "capture again");
    }
    // The upper bits tell about checksums behind the frame; they do not move its beginning.
    const uint32_t link = file_u32(header + 20, magic.big) & 0xffffU;
    return std::make_unique<PcapFile>(std::move(reader), magic, link);
  }
  return fail(no_capture(name, reader));
}

std::string link_name(uint32_t link) {
  const LinkType* type = find_link_type(link);
  return type != nullptr ? type->name : fmt::format("type {}", link);
}

}  // namespace plumbline
