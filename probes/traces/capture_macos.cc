// macOS: the system's own libpcap, loaded at run time. Its few functions are declared here by
// hand (pcap(3)); an interface must be named, because the device that means all of them has a link
// type that nobody else reads. Opening /dev/bpf* needs root or the access that Wireshark installs.
#include <dlfcn.h>
#include <poll.h>
#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/host/host.h"
#include "probes/traces/capture.h"
#include "probes/traces/capture_file.h"

namespace plumbline {
namespace {

constexpr const char* kLibrary = "/usr/lib/libpcap.A.dylib";
constexpr int kKernelBuffer = 4 << 20;  // bytes
constexpr int kPollMs = 20;
constexpr int kBatch = 1000;
constexpr int kErrorBytes = 256;                   // PCAP_ERRBUF_SIZE
constexpr unsigned kNetmaskUnknown = 0xffffffffu;  // PCAP_NETMASK_UNKNOWN
constexpr int kDltRaw = 12, kNanoseconds = 1;      // DLT_RAW, PCAP_TSTAMP_PRECISION_NANO
constexpr uint32_t kLinkTypeRaw = 101;

// As in <pcap/pcap.h>, which is not of libSystem. Private names, so that they never clash.
struct PacketHeader {
  timeval time;
  uint32_t captured, length;
  char comment[256];  // Apple's addition
};
struct Program {
  unsigned length;
  void* instructions;
};
struct Statistics {
  unsigned received, dropped, dropped_by_interface;
};
using Handler = void (*)(unsigned char* self, const PacketHeader* header,
                         const unsigned char* data);

struct Library {
  void* (*create)(const char*, char*) = nullptr;
  int (*set_snaplen)(void*, int) = nullptr;
  int (*set_promisc)(void*, int) = nullptr;
  int (*set_timeout)(void*, int) = nullptr;
  int (*set_immediate_mode)(void*, int) = nullptr;
  int (*set_buffer_size)(void*, int) = nullptr;
  int (*set_tstamp_precision)(void*, int) = nullptr;
  int (*get_tstamp_precision)(void*) = nullptr;
  int (*activate)(void*) = nullptr;
  int (*datalink)(void*) = nullptr;
  int (*compile)(void*, Program*, const char*, int, unsigned) = nullptr;
  int (*setfilter)(void*, Program*) = nullptr;
  void (*freecode)(Program*) = nullptr;
  int (*setnonblock)(void*, int, char*) = nullptr;
  int (*dispatch)(void*, int, Handler, unsigned char*) = nullptr;
  int (*stats)(void*, Statistics*) = nullptr;
  void (*close)(void*) = nullptr;
  char* (*geterr)(void*) = nullptr;
  std::string missing;  // what could not be had

  Library() {
    void* handle = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      missing = std::string(kLibrary) + " cannot be loaded";
      return;
    }
    load(handle, "pcap_create", create);
    load(handle, "pcap_set_snaplen", set_snaplen);
    load(handle, "pcap_set_promisc", set_promisc);
    load(handle, "pcap_set_timeout", set_timeout);
    load(handle, "pcap_set_immediate_mode", set_immediate_mode);
    load(handle, "pcap_set_buffer_size", set_buffer_size);
    load(handle, "pcap_set_tstamp_precision", set_tstamp_precision);
    load(handle, "pcap_get_tstamp_precision", get_tstamp_precision);
    load(handle, "pcap_activate", activate);
    load(handle, "pcap_datalink", datalink);
    load(handle, "pcap_compile", compile);
    load(handle, "pcap_setfilter", setfilter);
    load(handle, "pcap_freecode", freecode);
    load(handle, "pcap_setnonblock", setnonblock);
    load(handle, "pcap_dispatch", dispatch);
    load(handle, "pcap_stats", stats);
    load(handle, "pcap_close", close);
    load(handle, "pcap_geterr", geterr);
  }

 private:
  template <typename Function>
  void load(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    if (function == nullptr) missing = std::string(kLibrary) + " has no " + name;
  }
};

const Library& library() {
  static const Library loaded;
  return loaded;
}

struct PcapCloser {
  void operator()(void* handle) const { library().close(handle); }
};
using Pcap = std::unique_ptr<void, PcapCloser>;

Expected<Pcap> open_capture(const std::string& device, int snap_bytes) {
  const Library& pcap = library();
  if (!pcap.missing.empty()) return fail(ErrorCode::kUnsupported, pcap.missing);
  char problem[kErrorBytes] = "";
  Pcap handle(pcap.create(device.c_str(), problem));
  if (!handle) return fail(ErrorCode::kUnsupported, "capture on " + device + ": " + problem);
  pcap.set_snaplen(handle.get(), snap_bytes);
  pcap.set_promisc(handle.get(), 0);
  pcap.set_timeout(handle.get(), kPollMs);
  pcap.set_immediate_mode(handle.get(), 1);
  pcap.set_buffer_size(handle.get(), kKernelBuffer);
  pcap.set_tstamp_precision(handle.get(), kNanoseconds);
  if (pcap.activate(handle.get()) < 0) {
    return fail(ErrorCode::kUnsupported, "capture on " + device + ": " + pcap.geterr(handle.get()),
                "needs root, or read access to /dev/bpf*");
  }
  return handle;
}

class MacosCapture : public Capture {
 public:
  MacosCapture(Pcap handle, const CaptureSettings& settings)
      : handle_(std::move(handle)),
        file_(link_type(library().datalink(handle_.get())),
              static_cast<uint32_t>(settings.snap_bytes), settings.max_bytes, settings.max_packets),
        nanoseconds_(library().get_tstamp_precision(handle_.get()) == kNanoseconds),
        end_(Deadline::after_ns(settings.max_ns)) {
    thread_ = std::thread([this] { loop(); });
  }

  ~MacosCapture() override { join(); }

  CaptureResult stop(int settle_ms) override {
    const timespec pause{settle_ms / 1000, (settle_ms % 1000) * 1'000'000L};
    if (settle_ms > 0) ::nanosleep(&pause, nullptr);
    join();
    CaptureResult out;
    Statistics counts{};
    if (handle_ && library().stats(handle_.get(), &counts) == 0) out.dropped = counts.dropped;
    out.packets = file_.packets();
    out.cut = file_.full() || timed_out_;
    out.pcap = file_.take();
    handle_.reset();
    return out;
  }

 private:
  static uint32_t link_type(int datalink) {
    return datalink == kDltRaw ? kLinkTypeRaw : static_cast<uint32_t>(datalink);
  }

  void join() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
  }

  static void packet_came(unsigned char* self, const PacketHeader* header,
                          const unsigned char* data) {
    auto* capture = reinterpret_cast<MacosCapture*>(self);
    const int64_t fraction = int64_t{header->time.tv_usec} * (capture->nanoseconds_ ? 1 : 1000);
    capture->file_.add(header->time.tv_sec, fraction, header->captured, header->length, data);
  }

  // poll(2) does not work on BPF descriptors everywhere: reading without waiting, and a pause.
  void loop() {
    auto* self = reinterpret_cast<unsigned char*>(this);
    while (!file_.full()) {
      const bool last = ending_;
      const int got = library().dispatch(handle_.get(), kBatch, packet_came, self);
      if (got > 0) continue;
      if (last || got < 0) return;
      timed_out_ = end_.passed();
      if (timed_out_) return;
      const timespec pause{0, 5'000'000};
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

Status set_filter(void* handle, const std::string& text) {
  Program program{};
  const Library& pcap = library();
  if (pcap.compile(handle, &program, text.c_str(), 1, kNetmaskUnknown) != 0) {
    return fail(ErrorCode::kUsage, "the capture filter \"" + text + "\": " + pcap.geterr(handle));
  }
  const int code = pcap.setfilter(handle, &program);
  pcap.freecode(&program);
  if (code != 0) {
    return fail(ErrorCode::kUnsupported, std::string("set the filter: ") + pcap.geterr(handle));
  }
  return {};
}

}  // namespace

Expected<std::unique_ptr<Capture>> start_capture(const CaptureSettings& settings) {
  if (settings.device.empty()) {
    return fail(ErrorCode::kUnsupported, "on this system a capture needs the name of an interface");
  }
  CaptureSettings bounded = settings;
  bounded.snap_bytes = std::clamp(settings.snap_bytes, 64, 65535);
  auto handle = open_capture(settings.device, bounded.snap_bytes);
  if (!handle) return fail(handle.error());
  if (!settings.filter.empty()) {
    if (const Status set = set_filter(handle->get(), settings.filter); !set) {
      return fail(set.error());
    }
  }
  char problem[kErrorBytes] = "";
  if (library().setnonblock(handle->get(), 1, problem) != 0) {
    return fail(ErrorCode::kUnsupported, "capture on " + settings.device + ": " + problem);
  }
  return std::make_unique<MacosCapture>(std::move(*handle), bounded);
}

// The interface that has the first of these addresses.
std::string capture_device(const std::vector<std::string>& own) {
  const auto nics = list_nics();
  for (const Nic& nic : nics.value_or(std::vector<Nic>{})) {
    for (const NicAddress& address : nic.addresses) {
      if (!own.empty() && address.ip == own.front().substr(0, own.front().find('%'))) {
        return nic.name;
      }
    }
  }
  return {};
}

std::string capture_unavailable() {
  const auto handle = open_capture("lo0", 64);
  return handle ? std::string() : handle.error().message();
}

}  // namespace plumbline
