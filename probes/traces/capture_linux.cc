// Linux: libpcap over packet sockets (packet(7)). The device "any" gives "cooked" headers of
// version 2, with direction and interface index of each packet.
#include <pcap/pcap.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "core/clock.h"
#include "probes/traces/capture.h"
#include "probes/traces/capture_file.h"

namespace plumbline {
namespace {

constexpr int kKernelBuffer = 4 << 20;  // bytes
constexpr int kPollMs = 20;             // how soon the end is noticed
constexpr int kBatch = 1000;
constexpr uint32_t kLinkTypeRaw = 101;

struct PcapCloser {
  void operator()(pcap_t* handle) const { pcap_close(handle); }
};
using Pcap = std::unique_ptr<pcap_t, PcapCloser>;

// The numbers of the file format are libpcap's but for a few (pcap-linktype(7)).
uint32_t file_link_type(int datalink) {
  return datalink == DLT_RAW ? kLinkTypeRaw : static_cast<uint32_t>(datalink);
}

Error capture_error(const std::string& device, int code, pcap_t* handle) {
  const std::string what = "capture on " + device + ": ";
  if (code == PCAP_ERROR_PERM_DENIED || code == PCAP_ERROR_PROMISC_PERM_DENIED) {
    return {ErrorCode::kUnsupported,
            what + "not permitted: needs root or CAP_NET_RAW",
            0,
            "run the agent as root, or: sudo setcap cap_net_raw+ep PROGRAM",
            {}};
  }
  std::string text = pcap_statustostr(code);
  if (const std::string detail = pcap_geterr(handle); !detail.empty()) text += " (" + detail + ")";
  return {ErrorCode::kUnsupported, what + text, 0, {}, {}};
}

Expected<Pcap> open_capture(const std::string& device, int snap_bytes) {
  char problem[PCAP_ERRBUF_SIZE] = "";
  Pcap handle(pcap_create(device.c_str(), problem));
  if (!handle) return fail(ErrorCode::kUnsupported, "capture on " + device + ": " + problem);
  pcap_set_snaplen(handle.get(), snap_bytes);
  pcap_set_promisc(handle.get(), 0);
  pcap_set_timeout(handle.get(), kPollMs);
  pcap_set_immediate_mode(handle.get(), 1);
  pcap_set_buffer_size(handle.get(), kKernelBuffer);
  pcap_set_tstamp_precision(handle.get(), PCAP_TSTAMP_PRECISION_NANO);
  const int code = pcap_activate(handle.get());
  if (code < 0) return fail(capture_error(device, code, handle.get()));  // > 0 are warnings
  // Best effort: older libpcap knows only version 1, without the interface.
  if (device == "any") pcap_set_datalink(handle.get(), DLT_LINUX_SLL2);
  return handle;
}

class LinuxCapture : public Capture {
 public:
  LinuxCapture(Pcap handle, const CaptureSettings& settings)
      : handle_(std::move(handle)),
        file_(file_link_type(pcap_datalink(handle_.get())),
              static_cast<uint32_t>(settings.snap_bytes), settings.max_bytes, settings.max_packets),
        nanoseconds_(pcap_get_tstamp_precision(handle_.get()) == PCAP_TSTAMP_PRECISION_NANO),
        end_(Deadline::after_ns(settings.max_ns)) {
    thread_ = std::thread([this] { loop(); });
  }

  ~LinuxCapture() override { join(); }

  CaptureResult stop(int settle_ms) override {
    const timespec pause{settle_ms / 1000, (settle_ms % 1000) * 1'000'000L};
    if (settle_ms > 0) ::nanosleep(&pause, nullptr);
    join();
    CaptureResult out;
    pcap_stat counts{};
    if (handle_ && pcap_stats(handle_.get(), &counts) == 0) out.dropped = counts.ps_drop;
    out.packets = file_.packets();
    out.cut = file_.full() || timed_out_;
    out.pcap = file_.take();
    handle_.reset();
    return out;
  }

 private:
  void join() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
  }

  static void packet_came(u_char* self, const pcap_pkthdr* header, const u_char* data) {
    auto* capture = reinterpret_cast<LinuxCapture*>(self);
    const int64_t fraction = int64_t{header->ts.tv_usec} * (capture->nanoseconds_ ? 1 : 1000);
    if (!capture->file_.add(header->ts.tv_sec, fraction, header->caplen, header->len, data)) {
      pcap_breakloop(capture->handle_.get());
    }
  }

  void loop() {
    auto* self = reinterpret_cast<u_char*>(this);
    const int fd = pcap_get_selectable_fd(handle_.get());
    while (!file_.full()) {
      const bool last = ending_;  // what is queued by now is still read
      const int got = pcap_dispatch(handle_.get(), kBatch, packet_came, self);
      if (got > 0) continue;
      if (last || got < 0) return;
      timed_out_ = end_.passed();
      if (timed_out_) return;
      pollfd item{fd, POLLIN, 0};
      ::poll(&item, 1, kPollMs);
      if ((item.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0) continue;
      // An interface that goes down makes poll return at once, again and again.
      const timespec pause{0, kPollMs * 1'000'000L};
      ::nanosleep(&pause, nullptr);
    }
  }

  Pcap handle_;
  CaptureFile file_;
  bool nanoseconds_, timed_out_ = false;
  Deadline end_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

Status set_filter(pcap_t* handle, const std::string& text) {
  bpf_program program{};
  if (pcap_compile(handle, &program, text.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) {
    return fail(ErrorCode::kUsage, "the capture filter \"" + text + "\": " + pcap_geterr(handle));
  }
  const int code = pcap_setfilter(handle, &program);
  pcap_freecode(&program);
  if (code != 0) {
    return fail(ErrorCode::kUnsupported, std::string("set the filter: ") + pcap_geterr(handle));
  }
  return {};
}

}  // namespace

Expected<std::unique_ptr<Capture>> start_capture(const CaptureSettings& settings) {
  CaptureSettings bounded = settings;
  bounded.snap_bytes = std::clamp(settings.snap_bytes, 64, 65535);
  const std::string device = settings.device.empty() ? "any" : settings.device;
  auto handle = open_capture(device, bounded.snap_bytes);
  if (!handle) return fail(handle.error());
  if (!settings.filter.empty()) {
    if (const Status set = set_filter(handle->get(), settings.filter); !set) {
      return fail(set.error());
    }
  }
  char problem[PCAP_ERRBUF_SIZE] = "";
  if (pcap_setnonblock(handle->get(), 1, problem) != 0) {
    return fail(ErrorCode::kUnsupported, "capture on " + device + ": " + problem);
  }
  return std::make_unique<LinuxCapture>(std::move(*handle), bounded);
}

std::string capture_device(const std::vector<std::string>&) { return {}; }

std::string capture_unavailable() {
  const auto handle = open_capture("any", 64);
  return handle ? std::string() : handle.error().message();
}

}  // namespace plumbline
