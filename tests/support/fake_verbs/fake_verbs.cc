// A verbs library without hardware: the same symbols, and limits and faults that a file gives, so
// that every way in which a provider fails can be had on any machine. The file's path is in the
// variable FAKE_VERBS; one setting a line, in any order:
//   device NAME          is in the list; several lines for several devices
//   port NUMBER          its state (4 = ACTIVE)
//   gid INDEX ADDRESS    an entry of the GID table; the others are empty
//   gids COUNT           length of the table (4)
//   rc refused           queue pairs of the type RC fail with errno 102
//   most STEP COUNT      the next one fails with errno 16 (qp) or 12: of pd, cq, qp, mr
//   fail STEP ERRNO      of list, open, port, gid, pd, cq, qp, mr, modify: a null pointer where a
//                        pointer is due, and the errno, which may be 0
//   hang STEP            it never returns
//   crash STEP           SIGSEGV
#include <arpa/inet.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "transport/rdma/verbs_abi.h"

namespace plumbline {
struct VerbsDevice {
  std::string name;
};

namespace {

struct Settings {
  std::vector<std::unique_ptr<VerbsDevice>> devices;
  int port = kPortActive, gids = 4;
  std::map<int, VerbsGid> gid;
  bool rc_refused = false;
  std::map<std::string, int> most, fails;
  std::map<std::string, std::string> faults;  // "hang", "crash"

  Settings() {
    const char* const path = std::getenv("FAKE_VERBS");
    std::ifstream file(path == nullptr ? "" : path);
    for (std::string line; std::getline(file, line);) take(line);
  }

 private:
  void take(const std::string& line) {
    std::istringstream words(line);
    std::string what, first, second;
    words >> what >> first >> second;
    if (what == "device") devices.push_back(std::make_unique<VerbsDevice>(VerbsDevice{first}));
    if (what == "port") port = std::atoi(first.c_str());
    if (what == "gids") gids = std::atoi(first.c_str());
    if (what == "gid")
      inet_pton(AF_INET6, second.c_str(), gid[std::atoi(first.c_str())].raw.data());
    if (what == "rc") rc_refused = true;
    if (what == "most") most[first] = std::atoi(second.c_str());
    if (what == "fail") fails[first] = std::atoi(second.c_str());
    if (what == "hang" || what == "crash") faults[first] = what;
  }
};

const Settings& settings() {
  static const Settings read;
  return read;
}

// true: the step fails, with errno set.
bool fails(const std::string& step) {
  const auto fault = settings().faults.find(step);
  if (fault != settings().faults.end()) {
    if (fault->second == "crash") std::raise(SIGSEGV);
    for (;;) pause();
  }
  const auto number = settings().fails.find(step);
  if (number == settings().fails.end()) return false;
  errno = number->second;
  return true;
}

std::map<std::string, int>& counts() {
  static std::map<std::string, int> there;
  return there;
}

// One more of these; nullptr where there are as many as may be.
template <typename T>
T* make(const std::string& step) {
  constexpr int kBusy = 16, kNoMemory = 12;
  if (fails(step)) return nullptr;
  const auto most = settings().most.find(step);
  if (most != settings().most.end() && counts()[step] >= most->second) {
    errno = step == "qp" ? kBusy : kNoMemory;
    return nullptr;
  }
  ++counts()[step];
  return new T{};
}
template <typename T>
int give_back(const std::string& step, T* object) {
  --counts()[step];
  delete object;
  return 0;
}

}  // namespace

extern "C" {

VerbsDevice** ibv_get_device_list(int* count) {
  if (fails("list")) return nullptr;
  const auto& devices = settings().devices;
  auto** list = new VerbsDevice* [devices.size() + 1] {};
  for (size_t i = 0; i < devices.size(); ++i) list[i] = devices[i].get();
  if (count != nullptr) *count = static_cast<int>(devices.size());
  return list;
}
void ibv_free_device_list(VerbsDevice** list) { delete[] list; }
const char* ibv_get_device_name(VerbsDevice* device) { return device->name.c_str(); }
VerbsContext* ibv_open_device(VerbsDevice* device) {
  auto* context = make<VerbsContext>("open");
  if (context != nullptr) context->device = device;
  return context;
}
int ibv_close_device(VerbsContext* context) { return give_back("open", context); }
int ibv_query_port(VerbsContext*, uint8_t port, VerbsPort* out) {
  if (fails("port")) return errno == 0 ? -1 : errno;
  if (port != 1) return EINVAL;
  out->state = settings().port;
  out->gids = settings().gids;
  out->active_mtu = out->max_mtu = 5;
  return 0;
}
int ibv_query_gid(VerbsContext*, uint8_t, int index, VerbsGid* out) {
  if (fails("gid")) return -1;
  const auto found = settings().gid.find(index);
  *out = found == settings().gid.end() ? VerbsGid{} : found->second;
  return 0;
}
VerbsDomain* ibv_alloc_pd(VerbsContext*) { return make<VerbsDomain>("pd"); }
int ibv_dealloc_pd(VerbsDomain* domain) { return give_back("pd", domain); }
VerbsCompletionQueue* ibv_create_cq(VerbsContext*, int, void*, VerbsChannel*, int) {
  return make<VerbsCompletionQueue>("cq");
}
int ibv_destroy_cq(VerbsCompletionQueue* cq) { return give_back("cq", cq); }
VerbsQueuePair* ibv_create_qp(VerbsDomain*, VerbsQpRequest* request) {
  constexpr int kNotSupportedOnDarwin = 102;
  if (request->type == kReliable && settings().rc_refused) {
    errno = kNotSupportedOnDarwin;
    return nullptr;
  }
  return make<VerbsQueuePair>("qp");
}
int ibv_destroy_qp(VerbsQueuePair* qp) { return give_back("qp", qp); }
int ibv_modify_qp(VerbsQueuePair*, VerbsQpAttributes*, int) {
  return fails("modify") ? (errno == 0 ? -1 : errno) : 0;
}
VerbsRegion* ibv_reg_mr(VerbsDomain*, void*, size_t, int) { return make<VerbsRegion>("mr"); }
int ibv_dereg_mr(VerbsRegion* region) { return give_back("mr", region); }

}  // extern "C"
}  // namespace plumbline
