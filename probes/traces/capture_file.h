// The captured packets as the bytes of a pcap file with nanoseconds (magic 0xa1b23c4d, in this
// machine's byte order), bounded in bytes and packets. Used by the platforms' captures.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace plumbline {

class CaptureFile {
 public:
  // `link_type`: of the file format (LINKTYPE_...). The file's header counts into `max_bytes`.
  CaptureFile(uint32_t link_type, uint32_t snap_bytes, int64_t max_bytes, int64_t max_packets);

  // False when a limit would be crossed: nothing is kept of this packet or a later one.
  bool add(int64_t seconds, int64_t nanoseconds, uint32_t captured, uint32_t length,
           const unsigned char* data);
  bool full() const { return full_; }
  int64_t packets() const { return packets_; }
  std::string take() { return std::move(bytes_); }

 private:
  void put(const void* data, size_t size);

  std::string bytes_;
  int64_t max_bytes_, max_packets_, packets_ = 0;
  uint32_t snap_bytes_;
  bool full_ = false;
};

}  // namespace plumbline
