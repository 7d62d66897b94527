// What the captures of all systems share (capture_linux.cc, capture_macos.cc): the packets as a
// file in memory, and the thread that reads them until the end. Only for these.
#pragma once

#include <sys/time.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "core/clock.h"
#include "probes/traces/capture.h"

namespace plumbline {

// The captured packets as the bytes of a pcap file with nanoseconds (magic 0xa1b23c4d, in this
// machine's byte order), bounded in bytes and packets. Not thread-safe.
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

// A capture that is read by a thread of its own. Whoever derives from it calls start() when its
// handle is ready and join() before that goes.
class CaptureLoop : public Capture {
 public:
  static constexpr int kKernelBuffer = 4 << 20;  // bytes
  static constexpr int kPollMs = 20;             // how soon the end is noticed
  static constexpr int kBatch = 1000;

  CaptureResult stop(int settle_ms) override;

 protected:
  // `datalink` as libpcap numbers it. `nanoseconds`: tv_usec of the packets holds these.
  CaptureLoop(int datalink, bool nanoseconds, const CaptureSettings& settings);

  void start();
  void join();
  // False when the packet, or an earlier one, was too much.
  bool keep(const timeval& time, uint32_t captured, uint32_t length, const unsigned char* data);

  // Reads a batch of packets without waiting; < 0 = none will come any more.
  virtual int read_batch() = 0;
  // For a little while, or until there is something to read.
  virtual void wait() = 0;
  // How many packets the kernel dropped; gives the handle back.
  virtual int64_t close() = 0;

 private:
  void loop();

  CaptureFile file_;
  bool nanoseconds_, timed_out_ = false;
  Deadline end_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

// The bytes kept of each packet, within what is sensible.
CaptureSettings bounded(CaptureSettings settings);

}  // namespace plumbline
