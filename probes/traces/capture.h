// Live packet capture with libpcap, on one host: bounded in packets, bytes and time, filtered by
// addresses and ports, never in promiscuous mode (nothing about the machine changes). Packets are
// kept in memory as a nanosecond pcap file that Wireshark opens, and analysed or written at the
// end. Platform code: capture_linux.cc links libpcap, capture_macos.cc loads it at run time. A
// capture belongs to one thread; it runs a thread of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"

namespace plumbline {

struct CaptureSettings {
  // All interfaces ("any") when empty. On Linux "any" tells for each packet whether it came in or
  // went out, and on which interface.
  std::string device;
  std::string filter;            // of libpcap's language, see capture_filter()
  int snap_bytes = 128;          // of each packet; headers only
  int64_t max_bytes = 16 << 20;  // kept
  int64_t max_packets = 200'000;
  int64_t max_ns = 120'000'000'000;  // then it stops by itself
};

struct CaptureResult {
  std::string pcap;  // the file's bytes
  int64_t packets = 0;
  int64_t dropped = 0;  // by the kernel, for want of buffer
  bool cut = false;     // a limit was reached
};

class Capture {
 public:
  virtual ~Capture() = default;
  // Ends the capture; packets that were on the wire up to `settle_ms` before are in it.
  virtual CaptureResult stop(int settle_ms) = 0;
};

// kUnsupported with the privilege that is missing, when this process may not capture.
Expected<std::unique_ptr<Capture>> start_capture(const CaptureSettings& settings);

// Where the traffic of these addresses can be captured, for CaptureSettings::device: empty where
// one capture sees all interfaces.
std::string capture_device(const std::vector<std::string>& own);

// TCP or UDP of these ports, ICMP, and ARP, each between any of `own` and any of `peers`.
std::string capture_filter(const std::vector<std::string>& own,
                           const std::vector<std::string>& peers, const std::vector<int>& ports);

}  // namespace plumbline
