// macOS: the system's own libpcap, loaded at run time. Its few functions are declared here by
// hand (pcap(3)); an interface must be named, because the device that means all of them has a link
// type that nobody else reads. Opening /dev/bpf* needs root or the access that Wireshark installs.
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

#include <memory>
#include <string>

#include "core/host/host.h"
#include "probes/traces/capture_loop.h"

namespace plumbline {
namespace {

constexpr const char* kLibrary = "/usr/lib/libpcap.A.dylib";
constexpr int kErrorBytes = 256;                   // PCAP_ERRBUF_SIZE
constexpr unsigned kNetmaskUnknown = 0xffffffffu;  // PCAP_NETMASK_UNKNOWN
constexpr int kNanoseconds = 1;                    // PCAP_TSTAMP_PRECISION_NANO

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

// What dlsym() found, as a function of any type.
struct Symbol {
  void* address;
  template <typename Function>
  operator Function() const {  // NOLINT(google-explicit-constructor): as in an assignment
    return reinterpret_cast<Function>(address);
  }
};

struct Library {
  void* handle = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  // What could not be had.
  std::string missing = handle == nullptr ? std::string(kLibrary) + " cannot be loaded" : "";
  void* (*create)(const char*, char*) = find("pcap_create");
  int (*set_snaplen)(void*, int) = find("pcap_set_snaplen");
  int (*set_promisc)(void*, int) = find("pcap_set_promisc");
  int (*set_timeout)(void*, int) = find("pcap_set_timeout");
  int (*set_immediate_mode)(void*, int) = find("pcap_set_immediate_mode");
  int (*set_buffer_size)(void*, int) = find("pcap_set_buffer_size");
  int (*set_tstamp_precision)(void*, int) = find("pcap_set_tstamp_precision");
  int (*get_tstamp_precision)(void*) = find("pcap_get_tstamp_precision");
  int (*activate)(void*) = find("pcap_activate");
  int (*datalink)(void*) = find("pcap_datalink");
  int (*compile)(void*, Program*, const char*, int, unsigned) = find("pcap_compile");
  int (*setfilter)(void*, Program*) = find("pcap_setfilter");
  void (*freecode)(Program*) = find("pcap_freecode");
  int (*setnonblock)(void*, int, char*) = find("pcap_setnonblock");
  int (*dispatch)(void*, int, Handler, unsigned char*) = find("pcap_dispatch");
  int (*stats)(void*, Statistics*) = find("pcap_stats");
  void (*close)(void*) = find("pcap_close");
  char* (*geterr)(void*) = find("pcap_geterr");

 private:
  Symbol find(const char* name) {
    void* address = handle == nullptr ? nullptr : ::dlsym(handle, name);
    if (handle != nullptr && address == nullptr) {
      missing = std::string(kLibrary) + " has no " + name;
    }
    return {address};
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
  pcap.set_timeout(handle.get(), CaptureLoop::kPollMs);
  pcap.set_immediate_mode(handle.get(), 1);
  pcap.set_buffer_size(handle.get(), CaptureLoop::kKernelBuffer);
  pcap.set_tstamp_precision(handle.get(), kNanoseconds);
  if (pcap.activate(handle.get()) < 0) {
    return fail(ErrorCode::kUnsupported, "capture on " + device + ": " + pcap.geterr(handle.get()),
                "needs root, or read access to /dev/bpf*");
  }
  return handle;
}

class MacosCapture : public CaptureLoop {
 public:
  MacosCapture(Pcap handle, const CaptureSettings& settings)
      : CaptureLoop(library().datalink(handle.get()),
                    library().get_tstamp_precision(handle.get()) == kNanoseconds, settings),
        handle_(std::move(handle)) {
    start();
  }

  ~MacosCapture() override { join(); }

 private:
  static void packet_came(unsigned char* self, const PacketHeader* header,
                          const unsigned char* data) {
    auto* capture = reinterpret_cast<MacosCapture*>(self);
    capture->keep(header->time, header->captured, header->length, data);
  }

  int read_batch() override {
    return library().dispatch(handle_.get(), kBatch, packet_came,
                              reinterpret_cast<unsigned char*>(this));
  }

  // poll(2) does not work on BPF descriptors everywhere: reading without waiting, and a pause.
  void wait() override {
    const timespec pause{0, 5'000'000};
    ::nanosleep(&pause, nullptr);
  }

  int64_t close() override {
    Statistics counts{};
    const bool told = handle_ && library().stats(handle_.get(), &counts) == 0;
    handle_.reset();
    return told ? counts.dropped : 0;
  }

  Pcap handle_;
};

Status set_filter(void* handle, const std::string& text) {
  if (text.empty()) return {};
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
  const CaptureSettings kept = bounded(settings);
  auto handle = open_capture(settings.device, kept.snap_bytes);
  if (!handle) return fail(handle.error());
  if (const Status set = set_filter(handle->get(), settings.filter); !set) return fail(set.error());
  char problem[kErrorBytes] = "";
  if (library().setnonblock(handle->get(), 1, problem) != 0) {
    return fail(ErrorCode::kUnsupported, "capture on " + settings.device + ": " + problem);
  }
  return std::make_unique<MacosCapture>(std::move(*handle), kept);
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

}  // namespace plumbline
