#include "transport/rdma/bare_verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <thread>
#include <utility>

#include "core/units.h"

namespace plumbline {
namespace {

// Of the id of a request; those of messages hold how many had been begun with it.
constexpr uint64_t kReceives = uint64_t{1} << 62, kCredits = uint64_t{1} << 61;
constexpr size_t kPage = 4096;
constexpr uint32_t kMostGroup = 16;         // requests that are posted at once
constexpr uint32_t kCreditRequests = 8;     // that may be under way beside the messages
constexpr size_t kMostUnderWay = 16 << 20;  // bytes: more than any path has room for
constexpr unsigned kLooks = 1024;           // between two looks at the clock
constexpr uint32_t kNumbers = 0xffffff;     // of queue pairs and packets

// Even, so that half of it is what credits are given for.
uint32_t depth_of(int requests, size_t bytes) {
  const size_t fit = std::max<size_t>(kMostUnderWay / bytes, 4) & ~size_t{1};
  return std::min(static_cast<uint32_t>(requests) - kCreditRequests, static_cast<uint32_t>(fit));
}

std::byte pattern(size_t index) { return static_cast<std::byte>(index * 131 + 7); }

// What the last byte of the message with this number holds: never the same twice in a row, nor the
// zero of a fresh buffer.
std::byte mark_of(uint64_t number) { return static_cast<std::byte>(number % 255 + 1); }

uint64_t word_of(std::span<const uint8_t> bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; ++i) word |= uint64_t{bytes[i]} << (8 * i);
  return word;
}
void put_word(uint64_t word, std::span<uint8_t> bytes) {
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(word >> (8 * i));
}

}  // namespace

Expected<std::unique_ptr<BareVerbs>> BareVerbs::create(std::shared_ptr<RdmaPort> port,
                                                       VerbsMove move, size_t bytes,
                                                       const std::string& peer, int requests) {
  const RdmaProfile& profile = port->profile();
  if (move == VerbsMove::kRead && port->qp_type() != kReliable) {
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("{} on {} has no RDMA READ", qp_type_name(port->qp_type()), port->device()));
  }
  if (bytes == 0 || bytes > kMostBytes) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("a message of bare verbs has 1 B to {}", format_bytes(kMostBytes)));
  }
  if (profile.classes && (message_bytes(profile, bytes) != bytes || bytes > port->most_message())) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("messages on {} are 4 KiB x 2^k long, up to {}", port->device(),
                            format_bytes(port->most_message())));
  }
  std::unique_ptr<BareVerbs> made(new BareVerbs(move, bytes, profile, requests));
  if (Status done = made->make(std::move(port), peer); !done) return fail(done.error());
  return made;
}

BareVerbs::BareVerbs(VerbsMove move, size_t bytes, const RdmaProfile& profile, int requests)
    : move_(move),
      bytes_(bytes),
      slot_bytes_((bytes + kPage - 1) / kPage * kPage),
      depth_(depth_of(requests == 0 ? profile.most_requests : requests, bytes)),
      group_(std::min(kMostGroup, depth_ / 4)),
      credit_bytes_(message_bytes(profile, 1)) {}

Status BareVerbs::make(std::shared_ptr<RdmaPort> port, const std::string& peer) {
  RdmaPairSpec spec;
  spec.sends = spec.receives = depth_ + kCreditRequests;
  spec.memory_bytes = 2 * slot_bytes_;
  if (move_ == VerbsMove::kWrite) spec.peer_may = kRemoteWrite;
  if (move_ == VerbsMove::kRead) spec.peer_may = kRemoteRead;
  spec.access |= static_cast<int>(spec.peer_may);
  Expected<std::unique_ptr<RdmaPair>> pair = RdmaPair::create(std::move(port), spec, peer);
  if (!pair) return fail(pair.error());
  pair_ = std::move(*pair);
  for (size_t i = 0; i < bytes_; ++i) out()[i] = pattern(i);
  std::memset(in(), 0, slot_bytes_);
  return move_ == VerbsMove::kSend ? post_receives(depth_) : Status();
}

BareVerbs::EndWords BareVerbs::end() const {
  const RdmaEnd end = pair_->end();
  const auto mtu = static_cast<uint64_t>(pair_->port()->mtu());
  const auto type = static_cast<uint64_t>(pair_->port()->qp_type());
  const std::span gid(end.gid.raw);
  return {word_of(gid.first(8)),
          word_of(gid.last(8)),
          end.lid | mtu << 16 | type << 24,
          end.qp | uint64_t{end.psn} << 32,
          reinterpret_cast<uintptr_t>(move_ == VerbsMove::kWrite ? in() : out()),
          pair_->remote_key()};
}

Status BareVerbs::connect(const EndWords& theirs) {
  RdmaEnd peer;
  put_word(theirs[0], std::span(peer.gid.raw).first(8));
  put_word(theirs[1], std::span(peer.gid.raw).last(8));
  peer.lid = static_cast<uint16_t>(theirs[2]);
  const uint64_t mtu = theirs[2] >> 16 & 0xff, type = theirs[2] >> 24;
  peer.qp = static_cast<uint32_t>(theirs[3]);
  peer.psn = static_cast<uint32_t>(theirs[3] >> 32);
  if (mtu < 1 || mtu > 5 || (type != kReliable && type != kUnreliable) || peer.qp > kNumbers ||
      peer.psn > kNumbers || theirs[5] > UINT32_MAX) {
    return fail(ErrorCode::kProtocol, "the numbers of the other end are no queue pair's");
  }
  const int own = pair_->port()->qp_type();
  if (static_cast<int>(type) != own) {
    return fail(ErrorCode::kConfig,
                fmt::format("this end has queue pairs of the type {}, the other one of {}",
                            qp_type_name(own), qp_type_name(static_cast<int>(type))));
  }
  remote_address_ = theirs[4];
  remote_key_ = static_cast<uint32_t>(theirs[5]);
  return pair_->connect(peer, std::min(static_cast<int>(mtu), pair_->port()->mtu()));
}

// ---- requests ----

// `is_told`: the end of the last one, and so that of all before it.
Status BareVerbs::post(uint32_t count, bool is_told) {
  std::array<VerbsSend, kMostGroup> requests;
  VerbsPiece piece{reinterpret_cast<uintptr_t>(move_ == VerbsMove::kRead ? in() : out()),
                   static_cast<uint32_t>(bytes_), pair_->local_key()};
  const bool fits = bytes_ <= pair_->inline_bytes() && move_ != VerbsMove::kRead;
  constexpr int kOpcodes[] = {plumbline::kSend, kRdmaWrite, kRdmaRead};
  for (uint32_t i = 0; i < count; ++i) {
    VerbsSend& request = requests[i];
    request.id = begun_ + count;
    request.next = i + 1 < count ? &requests[i + 1] : nullptr;
    request.pieces = &piece;
    request.piece_count = 1;
    request.opcode = kOpcodes[static_cast<size_t>(move_)];
    request.flags = fits ? kInline : 0u;
    request.remote_address = remote_address_;
    request.remote_key = remote_key_;
  }
  if (is_told) {
    requests[count - 1].flags |= kSignalled;
    told_ = begun_ + count;
  }
  if (const int number = pair_->post(requests[0]); number != 0) {
    return fail(pair_->broken(fmt::format("begin message {}", begun_), number));
  }
  begun_ += count;
  return {};
}

Status BareVerbs::post_receives(uint32_t count) {
  std::array<VerbsReceive, kMostGroup> requests;
  VerbsPiece piece{reinterpret_cast<uintptr_t>(in()), static_cast<uint32_t>(slot_bytes_),
                   pair_->local_key()};
  while (count > 0) {
    const uint32_t part = std::min(count, kMostGroup);
    for (uint32_t i = 0; i < part; ++i) {
      requests[i] = {kReceives, i + 1 < part ? &requests[i + 1] : nullptr, &piece, 1};
    }
    if (const int number = pair_->post(requests[0]); number != 0) {
      return fail(pair_->broken("post a receive", number));
    }
    count -= part;
  }
  return {};
}

// Half of the receives of this end are free again.
Status BareVerbs::give_credit() {
  VerbsPiece piece{reinterpret_cast<uintptr_t>(out()), static_cast<uint32_t>(credit_bytes_),
                   pair_->local_key()};
  VerbsSend request;
  request.id = kCredits;
  request.pieces = &piece;
  request.piece_count = 1;
  request.opcode = plumbline::kSend;
  request.flags = kSignalled;
  const int number = pair_->post(request);
  return number == 0 ? Status() : fail(pair_->broken("give credits", number));
}

Status BareVerbs::collect() {
  std::array<VerbsCompletion, kMostGroup> completions;
  const int count = pair_->poll(completions.data(), static_cast<int>(completions.size()));
  if (count < 0) return fail(pair_->broken("look for completions"));
  uint32_t received = 0;
  for (int i = 0; i < count; ++i) {
    const VerbsCompletion& one = completions[static_cast<size_t>(i)];
    const bool receives = (one.id & kReceives) != 0;
    if (one.status != 0) return fail(pair_->broken(receives ? "receive" : "request", one));
    if (receives) {
      ++received;
    } else if ((one.id & kCredits) == 0) {
      ended_ = one.id;
    }
  }
  received_ += received;
  return received == 0 ? Status() : post_receives(received);
}

// ---- latency ----

Status BareVerbs::send_one() {
  // Of a WRITE nothing else tells. The one before has been answered, so it has left.
  if (move_ == VerbsMove::kWrite) out()[bytes_ - 1] = mark_of(begun_);
  // Now and then: nobody waits for it.
  if (Status posted = post(1, begun_ + 1 - told_ >= kCreditRequests); !posted) return posted;
  // WRITEs are not awaited by their completions, which fill the queue up.
  return begun_ - ended_ > depth_ / 2 ? collect() : Status();
}

bool BareVerbs::has_come() const {
  if (move_ == VerbsMove::kSend) return received_ > awaited_;
  if (move_ == VerbsMove::kRead) return ended_ == begun_;
  // The device writes it.
  auto* const last = reinterpret_cast<unsigned char*>(in() + bytes_ - 1);
  return static_cast<std::byte>(__atomic_load_n(last, __ATOMIC_ACQUIRE)) == mark_of(awaited_);
}

Status BareVerbs::await_one(const Patience& patience) {
  for (unsigned looks = 1; !has_come(); ++looks) {
    // Of a WRITE, only that it failed would be seen there.
    if (move_ != VerbsMove::kWrite || looks % kLooks == 0) {
      if (Status done = collect(); !done) return done;
    }
    if (looks % kLooks != 0) continue;
    if (patience.over()) {
      return fail(pair_->broken(fmt::format("message {} did not come in time", awaited_)));
    }
    if (patience.yield) std::this_thread::yield();
  }
  ++awaited_;
  return {};
}

Status BareVerbs::round_trips(bool begins, int count, const Patience& patience,
                              std::vector<int64_t>* times) {
  if (move_ == VerbsMove::kRead && !begins) return {};
  int64_t start = monotonic_ns();
  for (int i = 0; i < count; ++i) {
    Status done;
    if (move_ == VerbsMove::kRead) {
      done = post(1, true);
    } else if (begins) {
      done = send_one();
    }
    if (done) done = await_one(patience);
    if (!done) return done;
    if (times != nullptr) {
      const int64_t now = monotonic_ns();
      times->push_back(now - std::exchange(start, now));
    }
    if (begins || move_ == VerbsMove::kRead) continue;
    if (done = send_one(); !done) return done;
  }
  // Each was answered.
  answered_ = begun_;
  return {};
}

// ---- bandwidth ----

Status BareVerbs::step(uint64_t more) {
  if (Status done = collect(); !done) return done;
  ended_ = std::max(ended_, answered_);
  const uint64_t read = std::min(credits_got() * (depth_ / 2), begun_ - answered_);
  const auto has_room = [&] {
    const uint64_t unread = move_ == VerbsMove::kSend ? begun_ - answered_ - read : 0;
    return std::max(unread, begun_ - ended_) + group_ <= depth_;
  };
  while (more > 0 && has_room()) {
    const auto part = static_cast<uint32_t>(std::min<uint64_t>(group_, more));
    if (Status posted = post(part, true); !posted) return posted;
    more -= part;
  }
  return {};
}

Status BareVerbs::take() {
  if (Status done = collect(); !done) return done;
  const uint64_t before = std::exchange(taken_, received_ - awaited_);
  for (uint64_t n = before / (depth_ / 2); n < taken_ / (depth_ / 2); ++n) {
    if (Status given = give_credit(); !given) return given;
  }
  return {};
}

std::string BareVerbs::name() const {
  return fmt::format("{} {}", qp_type_name(pair_->port()->qp_type()), pair_->port()->device());
}

bool BareVerbs::is_intact() const {
  for (size_t i = 0; i + 1 < bytes_; ++i) {
    if (in()[i] != pattern(i)) return false;
  }
  return true;
}

}  // namespace plumbline
