#include "probes/traces/capture_file.h"

#include <algorithm>

namespace plumbline {
namespace {

constexpr uint32_t kPcapMagic = 0xa1b23c4d;  // nanoseconds (pcap-savefile(5))

struct FileHeader {
  uint32_t magic = kPcapMagic;
  uint16_t major = 2, minor = 4;
  int32_t zone = 0;
  uint32_t accuracy = 0, snap_bytes = 0, link_type = 0;
};
static_assert(sizeof(FileHeader) == 24);

struct PacketHeader {
  uint32_t seconds = 0, nanoseconds = 0, captured = 0, length = 0;
};
static_assert(sizeof(PacketHeader) == 16);

}  // namespace

CaptureFile::CaptureFile(uint32_t link_type, uint32_t snap_bytes, int64_t max_bytes,
                         int64_t max_packets)
    : max_bytes_(max_bytes), max_packets_(max_packets), snap_bytes_(snap_bytes) {
  FileHeader header;
  header.snap_bytes = snap_bytes;
  header.link_type = link_type;
  put(&header, sizeof header);
}

bool CaptureFile::add(int64_t seconds, int64_t nanoseconds, uint32_t captured, uint32_t length,
                      const unsigned char* data) {
  captured = std::min({captured, length, snap_bytes_});
  const auto size = static_cast<int64_t>(bytes_.size() + sizeof(PacketHeader) + captured);
  full_ = full_ || packets_ >= max_packets_ || size > max_bytes_;
  if (full_) return false;
  const PacketHeader header{static_cast<uint32_t>(seconds), static_cast<uint32_t>(nanoseconds),
                            captured, length};
  put(&header, sizeof header);
  put(data, captured);
  ++packets_;
  return true;
}

void CaptureFile::put(const void* data, size_t size) {
  bytes_.append(static_cast<const char*>(data), size);
}

}  // namespace plumbline
