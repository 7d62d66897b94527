// The verbs library (verbs(7)): what talks to RDMA devices from user space. It is loaded at run
// time, so that one plumbline runs where it is and where it is not, and its functions stand in one
// table. Where macOS has librdma.dylib the same functions are in there. Loaded once and never
// unloaded: drivers start threads. Loading is thread-safe; a context's objects are used by one
// thread at a time, as verbs(7) says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "transport/rdma/verbs_abi.h"

namespace plumbline {

// Each as its page of section 3 says: pointers are null, and integers not 0 (errno, or -1 with
// errno), where a call fails.
struct Verbs {
  std::string library;  // what was loaded
  VerbsDevice** (*get_device_list)(int* count) = nullptr;
  void (*free_device_list)(VerbsDevice** list) = nullptr;
  const char* (*get_device_name)(VerbsDevice* device) = nullptr;
  VerbsContext* (*open_device)(VerbsDevice* device) = nullptr;
  int (*close_device)(VerbsContext* context) = nullptr;
  int (*query_port)(VerbsContext* context, uint8_t port, VerbsPort* out) = nullptr;
  int (*query_gid)(VerbsContext* context, uint8_t port, int index, VerbsGid* out) = nullptr;
  VerbsDomain* (*alloc_pd)(VerbsContext* context) = nullptr;
  int (*dealloc_pd)(VerbsDomain* domain) = nullptr;
  VerbsCompletionQueue* (*create_cq)(VerbsContext* context, int entries, void* user,
                                     VerbsChannel* channel, int vector) = nullptr;
  int (*destroy_cq)(VerbsCompletionQueue* cq) = nullptr;
  VerbsQueuePair* (*create_qp)(VerbsDomain* domain, VerbsQpRequest* request) = nullptr;
  int (*destroy_qp)(VerbsQueuePair* qp) = nullptr;
  int (*modify_qp)(VerbsQueuePair* qp, VerbsQpAttributes* attributes, int mask) = nullptr;
  VerbsRegion* (*reg_mr)(VerbsDomain* domain, void* address, size_t bytes, int access) = nullptr;
  int (*dereg_mr)(VerbsRegion* region) = nullptr;
  // Null, all four, where the library has no channels of completions: then queues are polled only.
  VerbsChannel* (*create_comp_channel)(VerbsContext* context) = nullptr;
  int (*destroy_comp_channel)(VerbsChannel* channel) = nullptr;
  int (*get_cq_event)(VerbsChannel* channel, VerbsCompletionQueue** cq, void** user) = nullptr;
  void (*ack_cq_events)(VerbsCompletionQueue* cq, unsigned events) = nullptr;
};

// The first of these names that the system's loader finds. kUnsupported, in its words, where there
// is none, or a function is missing in it.
Expected<Verbs> load_verbs(const std::vector<std::string>& names);

// --- what differs by platform -------------------------------------------------------------------

// Names under which the library may be found, best first.
std::vector<std::string> verbs_library_names();
// Most bytes of one message that the system's own provider takes; 0 = as its profile says.
size_t most_message_of_system();
// Cheaper than loading the library, and safer: false = the system lists no device of RDMA, or has
// no list but the library's (macOS).
bool may_have_rdma_devices();
// "RoCE v2" of an entry of a GID table; empty where the system does not tell.
std::string gid_type(const std::string& device, int port, int index);
// Whether this program can load libraries: one that was linked statically cannot.
bool loads_libraries();

}  // namespace plumbline
