#include "transport/rdma/rdma_rail.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace plumbline {
namespace {

// Of the id of a request: a receive, of the slot in the other bits; a read, of that ticket.
constexpr uint64_t kReceives = uint64_t{1} << 32, kReads = uint64_t{1} << 33;
constexpr int64_t kStopNs = 100 * kMillisecond;
// More than a packet of every usual path.
constexpr size_t kHelloBytes = 10'000;
constexpr unsigned char kHelloByte = 0x5a;

}  // namespace

Expected<std::unique_ptr<RdmaRail>> RdmaRail::create(std::shared_ptr<RdmaPort> port, int requests,
                                                     const std::string& peer) {
  std::unique_ptr<RdmaRail> rail(new RdmaRail(std::move(port), requests));
  if (Status made = rail->make(peer); !made) return fail(made.error());
  return rail;
}

RdmaRail::RdmaRail(std::shared_ptr<RdmaPort> port, int requests)
    : port_(std::move(port)),
      // A power of two, so that counts may begin anew at 0.
      requests_(std::bit_floor(
          static_cast<uint32_t>(std::clamp(requests, 4, port_->profile().requests)))),
      arrived_(requests_) {}

Status RdmaRail::make(const std::string& peer) {
  const bool reads = port()->qp_type() == kReliable;
  RdmaPairSpec spec;
  spec.sends = requests_ + (reads ? kMostReads : 0);
  spec.receives = requests_;
  spec.memory_bytes =
      2 * static_cast<size_t>(requests_) * port()->frame_bytes() + (reads ? kBounceBytes : 0);
  if (reads) spec.peer_may = kRemoteRead;
  spec.wakes = true;
  Expected<std::unique_ptr<RdmaPair>> pair = RdmaPair::create(port_, spec, peer);
  if (!pair) return fail(pair.error());
  pair_ = std::move(*pair);
  for (uint32_t slot = 0; slot < requests_; ++slot) {
    if (Status posted = post_receive(slot); !posted) return posted;
  }
  return {};
}

Status RdmaRail::connect(const RdmaEnd& peer, int mtu, int requests) {
  credits_ = static_cast<uint32_t>(requests);
  return pair_->connect(peer, mtu);
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
                   pair_->local_key()};
  VerbsSend request;
  request.id = sent_;
  request.pieces = &piece;
  request.piece_count = 1;
  request.opcode = kSend;
  request.flags = kSignalled | (length <= pair_->inline_bytes() ? kInline : 0u);
  if (const int number = pair_->post(request); number != 0) {
    return fail(pair_->broken(fmt::format("send frame {}", sent_), number));
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
  if (const int number = pair_->post(request); number != 0) {
    return fail(pair_->broken(fmt::format("read {} bytes", to.size()), number));
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

void RdmaRail::stop() {
  if (pair_->destroyed()) return;
  pair_->give_up();
  const Deadline patience = Deadline::after_ns(kStopNs);
  std::array<VerbsCompletion, 16> completions;
  while (reads_ > 0 && !patience.passed()) {
    const int count = pair_->poll(completions.data(), static_cast<int>(completions.size()));
    if (count < 0) break;
    for (int i = 0; i < count; ++i) {
      if ((completions[static_cast<size_t>(i)].id & kReads) != 0) --reads_;
    }
  }
  reads_ended_.clear();
  if (reads_ == 0) return;
  // It does not say that they have ended; without it they have.
  pair_->destroy();
}

// ---- what comes ----

Status RdmaRail::post_receive(uint32_t slot) {
  VerbsPiece piece{reinterpret_cast<uintptr_t>(slot_at(receive_slot(slot))),
                   static_cast<uint32_t>(port_->frame_bytes()), pair_->local_key()};
  VerbsReceive request;
  request.id = kReceives | slot;
  request.pieces = &piece;
  request.piece_count = 1;
  if (pair_->destroyed()) return fail(pair_->broken("post a receive after the end"));
  const int number = pair_->post(request);
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
    count = pair_->poll(completions.data(), kMost);
    if (count < 0) return fail(pair_->broken("look for completions"));
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
    return fail(pair_->broken(reads ? "read" : receives ? "receive" : "send", completion));
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
  if (slot >= requests_)
    return fail(pair_->broken("a completion of a receive that was not posted"));
  RdmaFrame frame;
  if (length < sizeof frame || length > port_->frame_bytes()) {
    return fail(pair_->broken(fmt::format("a message of {} bytes is no frame", length)));
  }
  std::memcpy(&frame, slot_at(receive_slot(slot)), sizeof frame);
  if (frame.number != received_) {
    Error lost = pair_->broken(fmt::format(
        "frame {} came where {} was due: what lies between was lost", frame.number, received_));
    lost.hint =
        "UC sends nothing again: look for errors and drops on the link, or use RC "
        "(rdma_qp) where the provider has it";
    return fail(lost);
  }
  const bool known = frame.kind >= kDataFrame && frame.kind <= kHelloFrame;
  const bool has_bytes = frame.kind == kDataFrame || frame.kind == kHelloFrame;
  if (!known || frame.bytes > length - sizeof frame || frame.credits - acked_ > sent_ - acked_ ||
      has_bytes != (frame.bytes > 0) || ended_ || (frame.kind == kHelloFrame && frame.number > 0)) {
    Error wrong = pair_->broken(fmt::format("frame {} says what cannot be", frame.number));
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

}  // namespace plumbline
