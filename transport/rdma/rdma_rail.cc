#include "transport/rdma/rdma_rail.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "core/encode.h"

namespace plumbline {
namespace {

// Of the id of a request: a receive, of the slot in the other bits; a read, of that ticket.
constexpr uint64_t kReceives = uint64_t{1} << 32, kReads = uint64_t{1} << 33;
// perftest's and the drivers' usual ones: 4.096 us x 2^14 = 67 ms until a packet is sent again,
// seven times; 0.01 ms until a peer without a receive is asked again, for ever.
constexpr uint8_t kTimeout = 14, kRetries = 7, kRnrTimer = 1;
// Of one queue pair, on the wire: drivers allow 16 and more.
constexpr uint8_t kReadsAtOnce = 4;
constexpr int64_t kStopNs = 100 * kMillisecond;
// More than a packet of every usual path.
constexpr size_t kHelloBytes = 10'000;
constexpr unsigned char kHelloByte = 0x5a;

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

Expected<std::unique_ptr<RdmaRail>> RdmaRail::create(std::shared_ptr<RdmaPort> port, int requests,
                                                     const std::string& peer) {
  std::unique_ptr<RdmaRail> rail(new RdmaRail(std::move(port), requests, peer));
  if (Status made = rail->make(); !made) return fail(made.error());
  return rail;
}

RdmaRail::RdmaRail(std::shared_ptr<RdmaPort> port, int requests, std::string peer)
    : port_(std::move(port)),
      // A power of two, so that counts may begin anew at 0.
      requests_(std::bit_floor(
          static_cast<uint32_t>(std::clamp(requests, 4, port_->profile().requests)))),
      peer_(std::move(peer)),
      psn_(random_psn()),
      arrived_(requests_) {}

RdmaRail::~RdmaRail() {
  const Verbs& verbs = port_->verbs();
  if (pair_ != nullptr) verbs.destroy_qp(pair_);
  if (region_ != nullptr) verbs.dereg_mr(region_);
  if (queue_ != nullptr) verbs.destroy_cq(queue_);
  if (channel_ != nullptr) verbs.destroy_comp_channel(channel_);
}

Status RdmaRail::make() {
  if (Status made = make_queues(); !made) return made;
  const Verbs& verbs = port_->verbs();
  const bool reads = port_->qp_type() == kReliable;
  const size_t bytes =
      2 * static_cast<size_t>(requests_) * port_->frame_bytes() + (reads ? kBounceBytes : 0);
  Expected<Array> slab = allocate_array(bytes);
  if (!slab) return fail(slab.error());
  slab_ = std::move(*slab);
  errno = 0;
  region_ = verbs.reg_mr(port_->domain(), slab_.data, bytes, kLocalWrite);
  if (region_ == nullptr) {
    const bool memlock = errno == ENOMEM;
    return fail(verbs_error(fmt::format("register {} bytes on {}", bytes, port_->device()), errno,
                            memlock ? "rdma.memlock" : "rdma.mr_limit",
                            memlock ? "ulimit -l says how much memory may be locked"
                                    : "plumbline doctor --deep counts what can be registered"));
  }
  VerbsQpAttributes start;
  start.state = kQpInit;
  start.port = RdmaPort::kNumber;
  if (reads) start.access = kRemoteRead;
  const int mask = kMaskState | kMaskPkey | kMaskPort | kMaskAccess;
  if (const int number = verbs.modify_qp(pair_, &start, mask); number != 0) {
    return fail(verbs_error(fmt::format("bring a queue pair on {} to INIT", port_->device()),
                            number, "rdma.rtr", ""));
  }
  for (uint32_t slot = 0; slot < requests_; ++slot) {
    if (Status posted = post_receive(slot); !posted) return posted;
  }
  return {};
}

Status RdmaRail::make_queues() {
  const Verbs& verbs = port_->verbs();
  if (verbs.create_comp_channel != nullptr) {
    channel_ = verbs.create_comp_channel(port_->context());
    // Events are drained until there is none.
    if (channel_ != nullptr) {
      const int flags = ::fcntl(channel_->fd, F_GETFL);
      if (flags < 0 || ::fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        return fail_errno(ErrorCode::kSystem, "fcntl on a channel of completions", errno);
      }
    }
  }
  const uint32_t reads = port_->qp_type() == kReliable ? kMostReads : 0;
  errno = 0;
  queue_ = verbs.create_cq(port_->context(), static_cast<int>(2 * requests_ + reads), nullptr,
                           channel_, 0);
  if (queue_ == nullptr) {
    return fail(verbs_error(fmt::format("make a completion queue on {}", port_->device()), errno,
                            "rdma.cq_limit", "what else uses the device?"));
  }
  return make_pair();
}

Status RdmaRail::make_pair() {
  VerbsQpRequest request;
  // Some providers refuse what others grant less of.
  for (const unsigned bytes : {port_->profile().inline_bytes, 0u}) {
    const uint32_t reads = port_->qp_type() == kReliable ? kMostReads : 0;
    request = {};
    request.send_cq = request.receive_cq = queue_;
    request.limits = {requests_ + reads, requests_, 1, 1, bytes};
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

RdmaEnd RdmaRail::end() const { return {port_->gid(), port_->lid(), pair_->number, psn_}; }

Status RdmaRail::connect(const RdmaEnd& peer, int mtu, int requests) {
  credits_ = static_cast<uint32_t>(requests);
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

// ---- what goes ----

std::byte* RdmaRail::next_out() { return slot_at(send_slot()) + sizeof(RdmaFrame); }

Status RdmaRail::send(size_t bytes) { return post(kDataFrame, bytes); }

Status RdmaRail::post(RdmaFrameKind kind, size_t bytes) {
  std::byte* const slot = slot_at(send_slot());
  const RdmaFrame frame{sent_, static_cast<uint32_t>(bytes), used_, kind};
  std::memcpy(slot, &frame, sizeof frame);
  const size_t length = message_bytes(port_->profile(), sizeof frame + bytes);
  VerbsPiece piece{reinterpret_cast<uintptr_t>(slot), static_cast<uint32_t>(length),
                   region_->local_key};
  VerbsSend request;
  request.id = sent_;
  request.pieces = &piece;
  request.piece_count = 1;
  request.opcode = kSend;
  request.flags = kSignalled | (length <= inline_bytes_ ? kInline : 0u);
  VerbsSend* bad = nullptr;
  if (const int number = port_->context()->post_send(pair_, &request, &bad); number != 0) {
    Error error = broken(fmt::format("send frame {}", sent_));
    error.sys_errno = std::abs(number);
    return fail(error);
  }
  ++sent_;
  told_ = used_;
  return {};
}

Status RdmaRail::tell() {
  if (used_ - told_ < requests_ / 2 || !can_send(0)) return {};
  return post(kCreditFrame, 0);
}

Status RdmaRail::say_hello() {
  const size_t bytes = std::min(most_bytes(), kHelloBytes);
  std::memset(next_out(), static_cast<int>(kHelloByte), bytes);
  return post(kHelloFrame, bytes);
}

void RdmaRail::finish(Deadline patience) {
  bool said = false;
  while (true) {
    // The other end reads nothing more, and may be gone.
    if (!poll() || ended_) return;
    if (!said && can_send(0)) {
      if (!post(kLastFrame, 0)) return;
      said = true;
    }
    if ((said && completed_ == sent_) || patience.passed()) return;
    std::this_thread::yield();
  }
}

// ---- what is read ----

Expected<bool> RdmaRail::start_read(uint32_t ticket, uint64_t from, uint32_t remote_key,
                                    std::span<std::byte> to, uint32_t local_key) {
  if (reads_ == kMostReads) return false;
  VerbsPiece piece{reinterpret_cast<uintptr_t>(to.data()), static_cast<uint32_t>(to.size()),
                   local_key};
  VerbsSend request;
  request.id = kReads | ticket;
  request.pieces = &piece;
  request.piece_count = 1;
  request.opcode = kRdmaRead;
  request.flags = kSignalled;
  request.remote_address = from;
  request.remote_key = remote_key;
  VerbsSend* bad = nullptr;
  if (const int number = port_->context()->post_send(pair_, &request, &bad); number != 0) {
    Error error = broken(fmt::format("read {} bytes", to.size()));
    error.sys_errno = std::abs(number);
    return fail(error);
  }
  ++reads_;
  return true;
}

std::optional<uint32_t> RdmaRail::read_ended() {
  if (reads_ended_.empty()) return std::nullopt;
  const uint32_t ticket = reads_ended_.front();
  reads_ended_.pop_front();
  return ticket;
}

std::span<std::byte> RdmaRail::bounce() {
  return {slot_at(2 * static_cast<size_t>(requests_)), kBounceBytes};
}

// In the state ERROR a queue pair ends all that is under way, of both ends.
void RdmaRail::stop() {
  if (pair_ == nullptr) return;
  VerbsQpAttributes stop;
  stop.state = kQpError;
  port_->verbs().modify_qp(pair_, &stop, kMaskState);
  const Deadline patience = Deadline::after_ns(kStopNs);
  std::array<VerbsCompletion, 16> completions;
  while (reads_ > 0 && !patience.passed()) {
    const int count =
        port_->context()->poll_cq(queue_, static_cast<int>(completions.size()), completions.data());
    if (count < 0) break;
    for (int i = 0; i < count; ++i) {
      if ((completions[static_cast<size_t>(i)].id & kReads) != 0) --reads_;
    }
  }
  reads_ended_.clear();
  if (reads_ == 0) return;
  // It does not say that they have ended; without it they have.
  port_->verbs().destroy_qp(pair_);
  pair_ = nullptr;
}

// ---- what comes ----

Status RdmaRail::post_receive(uint32_t slot) {
  VerbsPiece piece{reinterpret_cast<uintptr_t>(slot_at(receive_slot(slot))),
                   static_cast<uint32_t>(port_->frame_bytes()), region_->local_key};
  VerbsReceive request;
  request.id = kReceives | slot;
  request.pieces = &piece;
  request.piece_count = 1;
  VerbsReceive* bad = nullptr;
  if (pair_ == nullptr) return fail(broken("post a receive after the end"));
  const int number = port_->context()->post_receive(pair_, &request, &bad);
  if (number == 0) return {};
  return fail(
      verbs_error(fmt::format("post receive {} of {} on {}", slot + 1, requests_, port_->device()),
                  std::abs(number), "rdma.qp_limit", "what else uses the device?"));
}

Expected<bool> RdmaRail::poll() {
  constexpr int kMost = 16;
  std::array<VerbsCompletion, kMost> completions;
  bool moved = false;
  // All of them: who arms the queue is told of later ones only.
  for (int count = kMost; count == kMost;) {
    count = port_->context()->poll_cq(queue_, kMost, completions.data());
    if (count < 0) return fail(broken("look for completions"));
    for (int i = 0; i < count; ++i) {
      if (Status taken = take(completions[static_cast<size_t>(i)]); !taken) {
        return fail(taken.error());
      }
    }
    moved = moved || count > 0;
  }
  return moved;
}

Status RdmaRail::take(const VerbsCompletion& completion) {
  const bool receives = (completion.id & kReceives) != 0, reads = (completion.id & kReads) != 0;
  if (reads) --reads_;
  if (completion.status != 0) {
    return fail(broken(fmt::format("{}: {} (completion status {})",
                                   reads      ? "read"
                                   : receives ? "receive"
                                              : "send",
                                   status_text(completion.status), completion.status)));
  }
  if (reads) {
    reads_ended_.push_back(static_cast<uint32_t>(completion.id));
    return {};
  }
  if (receives) return take_frame(static_cast<uint32_t>(completion.id), completion.bytes);
  ++completed_;
  return {};
}

// What stands in a frame is the other end's, and may be anything.
Status RdmaRail::take_frame(uint32_t slot, uint32_t length) {
  if (slot >= requests_) return fail(broken("a completion of a receive that was not posted"));
  RdmaFrame frame;
  if (length < sizeof frame || length > port_->frame_bytes()) {
    return fail(broken(fmt::format("a message of {} bytes is no frame", length)));
  }
  std::memcpy(&frame, slot_at(receive_slot(slot)), sizeof frame);
  if (frame.number != received_) {
    Error lost = broken(fmt::format("frame {} came where {} was due: what lies between was lost",
                                    frame.number, received_));
    lost.hint =
        "UC sends nothing again: look for errors and drops on the link, or use RC "
        "(rdma_qp) where the provider has it";
    return fail(lost);
  }
  const bool known = frame.kind >= kDataFrame && frame.kind <= kHelloFrame;
  const bool has_bytes = frame.kind == kDataFrame || frame.kind == kHelloFrame;
  if (!known || frame.bytes > length - sizeof frame || frame.credits - acked_ > sent_ - acked_ ||
      has_bytes != (frame.bytes > 0) || ended_ || (frame.kind == kHelloFrame && frame.number > 0)) {
    Error wrong = broken(fmt::format("frame {} says what cannot be", frame.number));
    wrong.code = ErrorCode::kProtocol;
    return fail(wrong);
  }
  ++received_;
  acked_ = frame.credits;
  if (frame.kind == kDataFrame) {
    arrived_[behind_++ % requests_] = {slot, frame.bytes};
    return {};
  }
  ended_ = frame.kind == kLastFrame;
  if (frame.kind == kHelloFrame) {
    const std::byte* const said = slot_at(receive_slot(slot)) + sizeof frame;
    greeted_ = std::all_of(said, said + frame.bytes,
                           [](std::byte one) { return one == std::byte{kHelloByte}; });
  }
  return give_back(slot);
}

Status RdmaRail::give_back(uint32_t slot) {
  if (Status posted = post_receive(slot); !posted) return posted;
  ++used_;
  return {};
}

std::span<const std::byte> RdmaRail::front() const {
  if (is_empty()) return {};
  const Arrived& first = arrived_[first_ % requests_];
  return {slot_at(receive_slot(first.slot)) + sizeof(RdmaFrame) + at_, first.bytes - at_};
}

Status RdmaRail::consume(size_t bytes) {
  const Arrived first = arrived_[first_ % requests_];
  at_ += static_cast<uint32_t>(bytes);
  if (at_ < first.bytes) return {};
  at_ = 0;
  ++first_;
  return give_back(first.slot);
}

Status RdmaRail::arm() {
  const Verbs& verbs = port_->verbs();
  unsigned events = 0;
  VerbsCompletionQueue* queue = nullptr;
  void* user = nullptr;
  while (channel_ != nullptr && verbs.get_cq_event(channel_, &queue, &user) == 0) ++events;
  if (events > 0) verbs.ack_cq_events(queue_, events);
  if (channel_ == nullptr) return {};
  const int number = port_->context()->request_notification(queue_, 0);
  if (number == 0) return {};
  Error error = broken("ask to be told of completions");
  error.sys_errno = std::abs(number);
  return fail(error);
}

Error RdmaRail::broken(const std::string& what) const {
  return {ErrorCode::kPeerLost, fmt::format("RDMA with {} on {}: {}", peer_, port_->device(), what),
          0, "does its process live? plumbline doctor looks at the path", "rdma.path"};
}

}  // namespace plumbline
