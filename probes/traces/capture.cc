#include "probes/traces/capture.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "core/number.h"
#include "probes/traces/capture_loop.h"

namespace plumbline {
namespace {

constexpr uint32_t kPcapMagic = 0xa1b23c4d;  // nanoseconds (pcap-savefile(5))
constexpr int kDltRaw = 12;
constexpr uint32_t kLinkTypeRaw = 101;

// The numbers of the file format are libpcap's but for a few (pcap-linktype(7)).
uint32_t file_link_type(int datalink) {
  return datalink == kDltRaw ? kLinkTypeRaw : static_cast<uint32_t>(datalink);
}

struct FileHeader {
  uint32_t magic = kPcapMagic;
  uint16_t major = 2, minor = 4;
  int32_t zone = 0;
  uint32_t accuracy = 0, snap_bytes = 0, link_type = 0;
};
static_assert(sizeof(FileHeader) == 24);

struct RecordHeader {
  uint32_t seconds = 0, nanoseconds = 0, captured = 0, length = 0;
};
static_assert(sizeof(RecordHeader) == 16);

// "(host 10.0.0.1 or host fe80::1)"; empty for no addresses. Scopes are not of the language.
std::string any_host(const std::vector<std::string>& ips) {
  std::string text;
  for (const std::string& ip : ips) {
    text += fmt::format("{}host {}", text.empty() ? "(" : " or ", ip.substr(0, ip.find('%')));
  }
  return text.empty() ? text : text + ")";
}

// "(port 29500 or portrange 29600-29603)"; empty for no ports.
std::string any_port(const std::vector<int>& ports) {
  std::string text;
  for (const auto& [first, last] : runs_of(ports)) {
    text += text.empty() ? "(" : " or ";
    text +=
        first == last ? fmt::format("port {}", first) : fmt::format("portrange {}-{}", first, last);
  }
  return text.empty() ? text : text + ")";
}

std::string both(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a + b;
  return a + " and " + b;
}

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
  const auto size = static_cast<int64_t>(bytes_.size() + sizeof(RecordHeader) + captured);
  full_ = full_ || packets_ >= max_packets_ || size > max_bytes_;
  if (full_) return false;
  const RecordHeader header{static_cast<uint32_t>(seconds), static_cast<uint32_t>(nanoseconds),
                            captured, length};
  put(&header, sizeof header);
  put(data, captured);
  ++packets_;
  return true;
}

void CaptureFile::put(const void* data, size_t size) {
  bytes_.append(static_cast<const char*>(data), size);
}

CaptureLoop::CaptureLoop(int datalink, bool nanoseconds, const CaptureSettings& settings)
    : file_(file_link_type(datalink), static_cast<uint32_t>(settings.snap_bytes),
            settings.max_bytes, settings.max_packets),
      nanoseconds_(nanoseconds),
      end_(Deadline::after_ns(settings.max_ns)) {}

void CaptureLoop::start() {
  thread_ = std::thread([this] { loop(); });
}

void CaptureLoop::join() {
  ending_ = true;
  if (thread_.joinable()) thread_.join();
}

bool CaptureLoop::keep(const timeval& time, uint32_t captured, uint32_t length,
                       const unsigned char* data) {
  const int64_t fraction = int64_t{time.tv_usec} * (nanoseconds_ ? 1 : 1000);
  return file_.add(time.tv_sec, fraction, captured, length, data);
}

void CaptureLoop::loop() {
  while (!file_.full()) {
    const bool last = ending_;  // what is queued by now is still read
    const int got = read_batch();
    if (got > 0) continue;
    if (last || got < 0) return;
    timed_out_ = end_.passed();
    if (timed_out_) return;
    wait();
  }
}

CaptureResult CaptureLoop::stop(int settle_ms) {
  const timespec pause{settle_ms / 1000, (settle_ms % 1000) * 1'000'000L};
  if (settle_ms > 0) ::nanosleep(&pause, nullptr);
  join();
  CaptureResult out;
  out.dropped = close();
  out.packets = file_.packets();
  out.cut = file_.full() || timed_out_;
  out.pcap = file_.take();
  return out;
}

CaptureSettings bounded(CaptureSettings settings) {
  settings.snap_bytes = std::clamp(settings.snap_bytes, 64, 65535);
  return settings;
}

std::string capture_filter(const std::vector<std::string>& own,
                           const std::vector<std::string>& peers, const std::vector<int>& ports) {
  const std::string between = both(any_host(own), any_host(peers));
  // "host" means ARP's addresses too. ICMP errors come from routers as well, and neighbour
  // solicitations go to a group: one end is enough for these.
  return fmt::format("({}) or ({}) or ({})", both("(tcp or udp)", both(any_port(ports), between)),
                     both("arp", between), both("(icmp or icmp6)", any_host(own)));
}

}  // namespace plumbline
