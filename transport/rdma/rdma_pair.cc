#include "transport/rdma/rdma_pair.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/encode.h"

namespace plumbline {
namespace {

// 4.096 us x 2^17 = 0.5 s until a packet is sent again, seven times: a loss in the middle is told
// at once, and what is late in a queue, or at a host that got no processor, is not lost (perftest
// has 14, NCCL 20). 0.01 ms until a peer without a receive is asked again, for ever.
constexpr uint8_t kTimeout = 17, kRetries = 7, kRnrTimer = 1;
// Of one queue pair, on the wire: what all drivers allow.
constexpr uint8_t kReadsAtOnce = 16;

// ibv_wc_status_str(3), in words.
const char* status_text(int status) {
  switch (status) {
    case 1:
      return "a message was longer than its place";
    case 2:
      return "the queue pair could not do a request";
    case 4:
      return "memory of this end may not be reached";
    case 5:
      return "the queue pair was given up";
    case 9:
      return "the other end refused the request";
    case 10:
      return "memory of the other end may not be reached";
    case 11:
      return "the other end could not do a request";
    case 12:
      return "no answer, after several tries";
    case 13:
      return "the other end had no place for a message";
    default:
      return "the request failed";
  }
}

uint32_t random_psn() {
  const Digest random = random_token();
  uint32_t psn = 0;
  std::memcpy(&psn, random.data(), sizeof psn);
  return psn & 0xffffff;
}

}  // namespace

Expected<std::unique_ptr<RdmaPair>> RdmaPair::create(std::shared_ptr<RdmaPort> port,
                                                     const RdmaPairSpec& spec,
                                                     const std::string& peer) {
  std::unique_ptr<RdmaPair> pair(new RdmaPair(std::move(port), peer));
  if (Status made = pair->make(spec); !made) return fail(made.error());
  return pair;
}

RdmaPair::RdmaPair(std::shared_ptr<RdmaPort> port, std::string peer)
    : port_(std::move(port)), peer_(std::move(peer)), psn_(random_psn()) {}

RdmaPair::~RdmaPair() {
  destroy();
  const Verbs& verbs = port_->verbs();
  if (region_ != nullptr) verbs.dereg_mr(region_);
  if (queue_ != nullptr) verbs.destroy_cq(queue_);
  if (channel_ != nullptr) verbs.destroy_comp_channel(channel_);
}

Status RdmaPair::make(const RdmaPairSpec& spec) {
  if (Status made = make_queues(spec); !made) return made;
  if (Status made = make_pair(spec); !made) return made;
  if (Status made = make_region(spec); !made) return made;
  VerbsQpAttributes start;
  start.state = kQpInit;
  start.port = RdmaPort::kNumber;
  start.access = spec.peer_may;
  const int mask = kMaskState | kMaskPkey | kMaskPort | kMaskAccess;
  const int number = port_->verbs().modify_qp(pair_, &start, mask);
  if (number == 0) return {};
  return fail(verbs_error(fmt::format("bring a queue pair on {} to INIT", port_->device()), number,
                          "rdma.rtr", ""));
}

Status RdmaPair::make_queues(const RdmaPairSpec& spec) {
  const Verbs& verbs = port_->verbs();
  if (spec.wakes && verbs.create_comp_channel != nullptr) {
    channel_ = verbs.create_comp_channel(port_->context());
    // Events are drained until there is none.
    if (channel_ != nullptr) {
      const int flags = ::fcntl(channel_->fd, F_GETFL);
      if (flags < 0 || ::fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        return fail_errno(ErrorCode::kSystem, "fcntl on a channel of completions", errno);
      }
    }
  }
  errno = 0;
  queue_ = verbs.create_cq(port_->context(), static_cast<int>(spec.sends + spec.receives), nullptr,
                           channel_, 0);
  if (queue_ != nullptr) return {};
  return fail(verbs_error(fmt::format("make a completion queue on {}", port_->device()), errno,
                          "rdma.cq_limit", "what else uses the device?"));
}

Status RdmaPair::make_pair(const RdmaPairSpec& spec) {
  VerbsQpRequest request;
  // Some providers refuse what others grant less of.
  for (const unsigned bytes : {port_->profile().inline_bytes, 0u}) {
    request = {};
    request.send_cq = request.receive_cq = queue_;
    request.limits = {spec.sends, spec.receives, 1, 1, bytes};
    request.type = port_->qp_type();
    errno = 0;
    pair_ = port_->verbs().create_qp(port_->domain(), &request);
    if (pair_ != nullptr || bytes == 0) break;
  }
  if (pair_ == nullptr) {
    return fail(verbs_error(fmt::format("make a queue pair of the type {} on {}",
                                        qp_type_name(port_->qp_type()), port_->device()),
                            errno, "rdma.qp_limit",
                            "what else uses the device? The option rdma_qp has the other type"));
  }
  inline_bytes_ = std::min(request.limits.inline_bytes, port_->profile().inline_bytes);
  return {};
}

Status RdmaPair::make_region(const RdmaPairSpec& spec) {
  Expected<Array> memory = allocate_array(spec.memory_bytes);
  if (!memory) return fail(memory.error());
  memory_ = std::move(*memory);
  errno = 0;
  region_ = port_->verbs().reg_mr(port_->domain(), memory_.data, spec.memory_bytes, spec.access);
  if (region_ != nullptr) return {};
  const bool memlock = errno == ENOMEM;
  return fail(
      verbs_error(fmt::format("register {} bytes on {}", spec.memory_bytes, port_->device()), errno,
                  memlock ? "rdma.memlock" : "rdma.mr_limit",
                  memlock ? "ulimit -l says how much memory may be locked"
                          : "plumbline doctor --deep counts what can be registered"));
}

RdmaEnd RdmaPair::end() const { return {port_->gid(), port_->lid(), pair_->number, psn_}; }

Status RdmaPair::connect(const RdmaEnd& peer, int mtu) {
  const Verbs& verbs = port_->verbs();
  const bool reliable = port_->qp_type() == kReliable;
  VerbsQpAttributes receives;
  receives.state = kQpReceives;
  receives.path_mtu = mtu;
  receives.peer_qp = peer.qp;
  receives.receive_psn = peer.psn;
  receives.reads_in = kReadsAtOnce;
  receives.rnr_timer = kRnrTimer;
  receives.address.gid = peer.gid;
  receives.address.own_gid_index = static_cast<uint8_t>(port_->gid_index());
  receives.address.hop_limit = static_cast<uint8_t>(port_->profile().hops);
  receives.address.is_global = 1;
  receives.address.lid = peer.lid;
  receives.address.port = RdmaPort::kNumber;
  int mask = kMaskState | kMaskAddress | kMaskPathMtu | kMaskPeerQp | kMaskReceivePsn;
  if (reliable) mask |= kMaskReadsIn | kMaskRnrTimer;
  if (const int number = verbs.modify_qp(pair_, &receives, mask); number != 0) {
    return fail(verbs_error(fmt::format("make the queue pair on {} ready to receive from {} (GID "
                                        "{})",
                                        port_->device(), peer_, to_text(peer.gid)),
                            number, "rdma.rtr",
                            "is that GID reached by this device: right cable, right interface, "
                            "right GID index (rdma_gid_index)?"));
  }
  VerbsQpAttributes sends;
  sends.state = kQpSends;
  sends.send_psn = psn_;
  sends.timeout = kTimeout;
  sends.retries = sends.rnr_retries = kRetries;
  sends.reads_out = kReadsAtOnce;
  mask = kMaskState | kMaskSendPsn;
  if (reliable) mask |= kMaskTimeout | kMaskRetries | kMaskRnrRetries | kMaskReadsOut;
  if (const int number = verbs.modify_qp(pair_, &sends, mask); number != 0) {
    return fail(verbs_error(
        fmt::format("make the queue pair on {} ready to send to {}", port_->device(), peer_),
        number, "rdma.rtr", ""));
  }
  return {};
}

Status RdmaPair::arm() {
  const Verbs& verbs = port_->verbs();
  unsigned events = 0;
  VerbsCompletionQueue* queue = nullptr;
  void* user = nullptr;
  while (channel_ != nullptr && verbs.get_cq_event(channel_, &queue, &user) == 0) ++events;
  if (events > 0) verbs.ack_cq_events(queue_, events);
  if (channel_ == nullptr) return {};
  const int number = port_->context()->request_notification(queue_, 0);
  if (number == 0) return {};
  return fail(broken("ask to be told of completions", number));
}

void RdmaPair::give_up() {
  if (pair_ == nullptr) return;
  VerbsQpAttributes stop;
  stop.state = kQpError;
  port_->verbs().modify_qp(pair_, &stop, kMaskState);
}

void RdmaPair::destroy() {
  if (pair_ != nullptr) port_->verbs().destroy_qp(pair_);
  pair_ = nullptr;
}

Error RdmaPair::broken(const std::string& what) const { return broken(what, 0); }

Error RdmaPair::broken(const std::string& what, int number) const {
  return {ErrorCode::kPeerLost, fmt::format("RDMA with {} on {}: {}", peer_, port_->device(), what),
          std::abs(number), "does its process live? plumbline doctor looks at the path",
          "rdma.path"};
}

Error RdmaPair::broken(const char* request, const VerbsCompletion& completion) const {
  return broken(fmt::format("{}: {} (completion status {})", request,
                            status_text(completion.status), completion.status));
}

}  // namespace plumbline
