// Linux: libpcap over packet sockets (packet(7)). The device "any" gives "cooked" headers of
// version 2, with direction and interface index of each packet.
#include <pcap/pcap.h>
#include <poll.h>
#include <time.h>

#include <string>

#include "probes/traces/capture_loop.h"

namespace plumbline {
namespace {

struct PcapCloser {
  void operator()(pcap_t* handle) const { pcap_close(handle); }
};
using Pcap = std::unique_ptr<pcap_t, PcapCloser>;

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
  pcap_set_timeout(handle.get(), CaptureLoop::kPollMs);
  pcap_set_immediate_mode(handle.get(), 1);
  pcap_set_buffer_size(handle.get(), CaptureLoop::kKernelBuffer);
  pcap_set_tstamp_precision(handle.get(), PCAP_TSTAMP_PRECISION_NANO);
  const int code = pcap_activate(handle.get());
  if (code < 0) return fail(capture_error(device, code, handle.get()));  // > 0 are warnings
  // Best effort: older libpcap knows only version 1, without the interface.
  if (device == "any") pcap_set_datalink(handle.get(), DLT_LINUX_SLL2);
  return handle;
}

class LinuxCapture : public CaptureLoop {
 public:
  LinuxCapture(Pcap handle, const CaptureSettings& settings)
      : CaptureLoop(pcap_datalink(handle.get()),
                    pcap_get_tstamp_precision(handle.get()) == PCAP_TSTAMP_PRECISION_NANO,
                    settings),
        handle_(std::move(handle)) {
    start();
  }

  ~LinuxCapture() override { join(); }

 private:
  static void packet_came(u_char* self, const pcap_pkthdr* header, const u_char* data) {
    auto* capture = reinterpret_cast<LinuxCapture*>(self);
    if (!capture->keep(header->ts, header->caplen, header->len, data)) {
      pcap_breakloop(capture->handle_.get());
    }
  }

  int read_batch() override {
    return pcap_dispatch(handle_.get(), kBatch, packet_came, reinterpret_cast<u_char*>(this));
  }

  void wait() override {
    pollfd item{pcap_get_selectable_fd(handle_.get()), POLLIN, 0};
    ::poll(&item, 1, kPollMs);
    if ((item.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0) return;
    // An interface that goes down makes poll return at once, again and again.
    const timespec pause{0, kPollMs * 1'000'000L};
    ::nanosleep(&pause, nullptr);
  }

  int64_t close() override {
    pcap_stat counts{};
    const bool told = handle_ && pcap_stats(handle_.get(), &counts) == 0;
    handle_.reset();
    return told ? counts.ps_drop : 0;
  }

  Pcap handle_;
};

Status set_filter(pcap_t* handle, const std::string& text) {
  if (text.empty()) return {};
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
  const CaptureSettings kept = bounded(settings);
  const std::string device = settings.device.empty() ? "any" : settings.device;
  auto handle = open_capture(device, kept.snap_bytes);
  if (!handle) return fail(handle.error());
  if (const Status set = set_filter(handle->get(), settings.filter); !set) return fail(set.error());
  char problem[PCAP_ERRBUF_SIZE] = "";
  if (pcap_setnonblock(handle->get(), 1, problem) != 0) {
    return fail(ErrorCode::kUnsupported, "capture on " + device + ": " + problem);
  }
  return std::make_unique<LinuxCapture>(std::move(*handle), kept);
}

std::string capture_device(const std::vector<std::string>&) { return {}; }

}  // namespace plumbline
