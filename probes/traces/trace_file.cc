#include "probes/traces/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "probes/traces/link_layer.h"

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
      : reader_(std::move(reader)), big_(magic.big), nanoseconds_(magic.nanoseconds), link_(link) {
    format = nanoseconds_ ? "pcap-ns" : "pcap";
    links.push_back(link);
  }

  bool next(RawPacket& packet) override {
    const uint8_t* record = reader_.take(kRecord);
    if (record == nullptr) {
      truncated = truncated || !reader_.at_end();
      note_read_error();
      return false;
    }
    const int64_t seconds = file_u32(record, big_);
    const int64_t fraction = file_u32(record + 4, big_);
    const uint32_t captured = file_u32(record + 8, big_);
    const uint32_t wire = file_u32(record + 12, big_);
    ++count_;
    if (captured > ByteReader::kMaxPiece) {
      problems.push_back(
          fmt::format("packet {} claims {} captured bytes: the file is damaged, "
                      "nothing after it was read",
                      count_, captured));
      return false;
    }
    const uint8_t* data = reader_.take(captured);
    if (data == nullptr) {
      truncated = true;
      note_read_error();
      return false;
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
  void note_read_error() {
    if (reader_.read_errno() != 0) {
      problems.push_back("reading failed: " + errno_name(reader_.read_errno()));
    }
  }

  ByteReader reader_;
  bool big_, nanoseconds_;
  uint32_t link_;
  int64_t count_ = 0;
};

Error no_capture(const std::string& name, ByteReader& reader) {
  const uint8_t* start = reader.peek(2);
  if (start == nullptr) {
    if (reader.read_errno() != 0) {
      return Error{ErrorCode::kConfig, "read " + name, reader.read_errno(), "", ""};
    }
    const bool empty = reader.at_end();
    return Error{ErrorCode::kConfig, name + (empty ? " is empty" : " is no capture file"), 0,
                 "expected pcap or pcapng", ""};
  }
  const bool gzip = start[0] == 0x1f && start[1] == 0x8b;
  return Error{ErrorCode::kConfig, name + (gzip ? " is compressed" : " is no capture file"), 0,
               gzip ? "gunzip it first" : "expected pcap or pcapng", ""};
}

}  // namespace

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
