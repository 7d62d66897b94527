// A verbs library without hardware: the same symbols, messages that go over Unix sockets between
// processes of one machine, and limits and faults that a file gives, so that every way in which a
// provider fails can be had on any machine. The file's path is in the variable FAKE_VERBS, or else
// that of the library with .settings behind it, and it is read when the devices are listed; one
// setting a line, in any order (without a file: a Mac with one cable, settings.cc):
//   device NAME          is in the list; several lines for several devices
//   port NUMBER          its state (4 = ACTIVE)
//   gid INDEX ADDRESS    an entry of the GID table; the others are empty
//   gids COUNT           length of the table (4)
//   late COUNT           so many questions for a GID are answered with an empty one
//   rc refused           queue pairs of the type RC fail with errno 102
//   most STEP COUNT      the next one fails with errno 16 (qp) or 12: of pd, cq, qp, mr
//   fail STEP ERRNO      of list, open, port, gid, pd, cq, qp, mr, modify, init, rtr, rts: a null
//                        pointer where a pointer is due, and the errno, which may be 0
//   deaf                 queue pairs become ready, and nothing arrives
//   inline BYTES         queue pairs whose requests are to carry more fail with errno 22
//   posts COUNT          one receive more in a queue fails with errno 12
//   lose COUNT [BYTES]   of UC's messages (of at least so many bytes), each COUNTth does not arrive
//   linger MS BYTES      messages of at most so many bytes leave so much later than they were
//   posted sockets FOLDER       for messages between network namespaces: in files there hang STEP
//   it never returns crash STEP           SIGSEGV
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <string>

#include "tests/support/fake_verbs/queues.h"
#include "tests/support/fake_verbs/settings.h"

namespace plumbline {
namespace {

using fake::fails;
using fake::settings;

std::mutex counts_mutex;
std::map<std::string, int> counts;
std::atomic<int> gid_questions{0};

// Counts one more of these; false where there are as many as may be.
bool may_make(const std::string& step) {
  constexpr int kBusy = 16, kNoMemory = 12;
  if (fails(step)) return false;
  const auto now = settings();
  const auto most = now->most.find(step);
  const std::lock_guard lock(counts_mutex);
  if (most != now->most.end() && counts[step] >= most->second) {
    errno = step == "qp" ? kBusy : kNoMemory;
    return false;
  }
  ++counts[step];
  return true;
}
template <typename T>
T* make(const std::string& step) {
  return may_make(step) ? new T{} : nullptr;
}
template <typename T>
int give_back(const std::string& step, T* object) {
  delete object;
  const std::lock_guard lock(counts_mutex);
  --counts[step];
  return 0;
}

int failed_with_errno(const char* step) {
  if (!fails(step)) return 0;
  return errno == 0 ? -1 : errno;
}

int poll_cq(VerbsCompletionQueue* cq, int most, VerbsCompletion* out) {
  return static_cast<fake::CompletionQueue*>(cq)->poll(most, out);
}
int request_notification(VerbsCompletionQueue* cq, int) {
  static_cast<fake::CompletionQueue*>(cq)->arm();
  return 0;
}
int post_send(VerbsQueuePair* qp, VerbsSend* send, VerbsSend** bad) {
  int number = 0;
  for (; send != nullptr && number == 0; send = send->next) {
    number = static_cast<fake::QueuePair*>(qp)->post(*send);
    if (number != 0) *bad = send;
  }
  return number;
}
int post_receive(VerbsQueuePair* qp, VerbsReceive* receive, VerbsReceive** bad) {
  int number = 0;
  for (; receive != nullptr && number == 0; receive = receive->next) {
    number = static_cast<fake::QueuePair*>(qp)->post(*receive);
    if (number != 0) *bad = receive;
  }
  return number;
}

}  // namespace

extern "C" {

// For tests: how many objects of all kinds there are.
int plumbline_fake_verbs_left() {
  const std::lock_guard lock(counts_mutex);
  int left = 0;
  for (const auto& [step, count] : counts) left += count;
  return left;
}

VerbsDevice** ibv_get_device_list(int* count) {
  fake::read_settings();
  if (fails("list")) return nullptr;
  const auto devices = settings()->devices;
  auto** list = new VerbsDevice* [devices.size() + 1] {};
  for (size_t i = 0; i < devices.size(); ++i) list[i] = devices[i].get();
  if (count != nullptr) *count = static_cast<int>(devices.size());
  return list;
}
void ibv_free_device_list(VerbsDevice** list) { delete[] list; }
const char* ibv_get_device_name(VerbsDevice* device) { return device->name.c_str(); }
VerbsContext* ibv_open_device(VerbsDevice* device) {
  auto* context = make<VerbsContext>("open");
  if (context == nullptr) return nullptr;
  context->device = device;
  context->poll_cq = poll_cq;
  context->request_notification = request_notification;
  context->post_send = post_send;
  context->post_receive = post_receive;
  return context;
}
int ibv_close_device(VerbsContext* context) { return give_back("open", context); }
int ibv_query_port(VerbsContext*, uint8_t port, VerbsPort* out) {
  if (const int number = failed_with_errno("port"); number != 0) return number;
  if (port != 1) return EINVAL;
  out->state = settings()->port;
  out->gids = settings()->gids;
  out->active_mtu = out->max_mtu = 5;
  out->link_layer = 2;
  return 0;
}
int ibv_query_gid(VerbsContext*, uint8_t, int index, VerbsGid* out) {
  if (fails("gid")) return -1;
  const auto now = settings();
  const auto found = now->gid.find(index);
  const bool late = ++gid_questions <= now->late;
  *out = late || found == now->gid.end() ? VerbsGid{} : found->second;
  return 0;
}
VerbsDomain* ibv_alloc_pd(VerbsContext* context) {
  auto* domain = make<VerbsDomain>("pd");
  if (domain != nullptr) domain->context = context;
  return domain;
}
int ibv_dealloc_pd(VerbsDomain* domain) { return give_back("pd", domain); }
VerbsChannel* ibv_create_comp_channel(VerbsContext* context) {
  return may_make("channel") ? new fake::Channel(context) : nullptr;
}
int ibv_destroy_comp_channel(VerbsChannel* channel) {
  return give_back("channel", static_cast<fake::Channel*>(channel));
}
int ibv_get_cq_event(VerbsChannel* channel, VerbsCompletionQueue** cq, void**) {
  return static_cast<fake::Channel*>(channel)->take(cq) ? 0 : -1;
}
void ibv_ack_cq_events(VerbsCompletionQueue*, unsigned) {}
VerbsCompletionQueue* ibv_create_cq(VerbsContext* context, int entries, void*,
                                    VerbsChannel* channel, int) {
  auto* queue = make<fake::CompletionQueue>("cq");
  if (queue == nullptr) return nullptr;
  queue->context = context;
  queue->channel = channel;
  queue->entries = entries;
  return queue;
}
int ibv_destroy_cq(VerbsCompletionQueue* cq) {
  return give_back("cq", static_cast<fake::CompletionQueue*>(cq));
}
VerbsQueuePair* ibv_create_qp(VerbsDomain* domain, VerbsQpRequest* request) {
  constexpr int kNotSupportedOnDarwin = 102;
  if (request->type == kReliable && settings()->rc_refused) {
    errno = kNotSupportedOnDarwin;
    return nullptr;
  }
  if (request->limits.inline_bytes > static_cast<uint32_t>(settings()->inline_bytes)) {
    errno = EINVAL;
    return nullptr;
  }
  if (!may_make("qp")) return nullptr;
  auto* pair = new fake::QueuePair(*request);
  pair->context = domain->context;
  pair->domain = domain;
  return pair;
}
int ibv_destroy_qp(VerbsQueuePair* qp) {
  return give_back("qp", static_cast<fake::QueuePair*>(qp));
}
int ibv_modify_qp(VerbsQueuePair* qp, VerbsQpAttributes* attributes, int mask) {
  if (attributes->state == kQpError) {
    static_cast<fake::QueuePair*>(qp)->stop();
    return 0;
  }
  const char* const step = attributes->state == kQpInit       ? "init"
                           : attributes->state == kQpReceives ? "rtr"
                                                              : "rts";
  for (const char* name : {"modify", step}) {
    if (const int number = failed_with_errno(name); number != 0) return number;
  }
  if (attributes->state != kQpReceives || (mask & kMaskPeerQp) == 0) return 0;
  return static_cast<fake::QueuePair*>(qp)->connect_to(attributes->peer_qp);
}
VerbsRegion* ibv_reg_mr(VerbsDomain* domain, void* address, size_t bytes, int access) {
  auto* region = make<VerbsRegion>("mr");
  if (region == nullptr) return nullptr;
  region->domain = domain;
  region->address = address;
  region->length = bytes;
  region->remote_key = region->local_key = fake::add_region(address, bytes, access);
  return region;
}
int ibv_dereg_mr(VerbsRegion* region) {
  fake::remove_region(region->local_key);
  return give_back("mr", region);
}

}  // extern "C"
}  // namespace plumbline
