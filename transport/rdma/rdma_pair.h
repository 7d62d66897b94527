// A queue pair with its completion queue and one region of registered memory, brought to the state
// in which it sends: what rails (rdma_rail.h) and bare measurements (bare_verbs.h) stand on. All of
// it is gone with the value. One thread.
//
// Verbs: ibv_create_qp(3), ibv_modify_qp(3), ibv_post_send(3), ibv_post_recv(3), ibv_poll_cq(3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/error.h"
#include "transport/peer_memory.h"
#include "transport/rdma/rdma_port.h"

namespace plumbline {

// One end of a queue pair, as the other end has to know it.
struct RdmaEnd {
  VerbsGid gid;
  uint16_t lid = 0;
  uint32_t qp = 0;   // its number
  uint32_t psn = 0;  // its first packet number
  bool operator==(const RdmaEnd&) const = default;
};

struct RdmaPairSpec {
  uint32_t sends = 0, receives = 0;  // requests that may be under way in each queue
  size_t memory_bytes = 0;           // of the region
  int access = kLocalWrite;          // VerbsAccess to it
  unsigned peer_may = 0;             // VerbsAccess that the other end has at all
  bool wakes = false;                // with a descriptor that tells of completions, where there can
};

class RdmaPair {
 public:
  // In the state INIT. kUnsupported with the cause of the step that failed. `peer` is its name in
  // errors: "rank 2 on mini2".
  static Expected<std::unique_ptr<RdmaPair>> create(std::shared_ptr<RdmaPort> port,
                                                    const RdmaPairSpec& spec,
                                                    const std::string& peer);
  ~RdmaPair();
  RdmaPair(const RdmaPair&) = delete;
  RdmaPair& operator=(const RdmaPair&) = delete;

  RdmaEnd end() const;
  // Once: ready to receive from that end and to send to it, with the smaller MTU of both.
  Status connect(const RdmaEnd& peer, int mtu);

  const std::shared_ptr<RdmaPort>& port() const { return port_; }
  // On a page of its own.
  std::byte* memory() const { return memory_.data; }
  uint32_t local_key() const { return region_->local_key; }
  uint32_t remote_key() const { return region_->remote_key; }
  unsigned inline_bytes() const { return inline_bytes_; }

  // The errno of the library; 0 = posted.
  int post(VerbsSend& request) {
    VerbsSend* bad = nullptr;
    return port_->context()->post_send(pair_, &request, &bad);
  }
  int post(VerbsReceive& request) {
    VerbsReceive* bad = nullptr;
    return port_->context()->post_receive(pair_, &request, &bad);
  }
  // How many were filled in; below 0 = the library failed.
  int poll(VerbsCompletion* out, int most) { return port_->context()->poll_cq(queue_, most, out); }

  // Readable when a completion has come since arm(); -1 = this library has no such descriptor.
  int event_fd() const { return channel_ == nullptr ? -1 : channel_->fd; }
  Status arm();

  // In the state ERROR a queue pair ends all that is under way, of both ends.
  void give_up();
  // Without the pair nothing is under way; nothing may be posted after this.
  void destroy();
  bool destroyed() const { return pair_ == nullptr; }

  // Something went wrong on the way: kPeerLost with the cause rdma.path.
  Error broken(const std::string& what) const;
  Error broken(const std::string& what, int number) const;  // with the library's errno
  // A completion that says so: "send: no answer, after several tries (completion status 12)".
  Error broken(const char* request, const VerbsCompletion& completion) const;

 private:
  RdmaPair(std::shared_ptr<RdmaPort> port, std::string peer);
  Status make(const RdmaPairSpec& spec);
  Status make_queues(const RdmaPairSpec& spec);
  Status make_pair(const RdmaPairSpec& spec);
  Status make_region(const RdmaPairSpec& spec);

  const std::shared_ptr<RdmaPort> port_;
  const std::string peer_;
  const uint32_t psn_;
  VerbsChannel* channel_ = nullptr;
  VerbsCompletionQueue* queue_ = nullptr;
  VerbsQueuePair* pair_ = nullptr;
  VerbsRegion* region_ = nullptr;
  Array memory_;
  unsigned inline_bytes_ = 0;
};

}  // namespace plumbline
