#include "transport/rdma/rdma_terms.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "transport/control/wire.h"

namespace plumbline {
namespace {

constexpr uint32_t kRdmaOfferMagic = 0x706c7262;  // "plrb"
constexpr int kMostRequests = 1024, kLargestMtu = 5;
// For a message to arrive, and as long as RC tries.
constexpr int64_t kGreetMs = 3000, kLookNs = kMillisecond;
constexpr uint64_t kLeastFrame = 4096, kMostFrame = 1 << 20;
constexpr uint32_t kMostNumber = 0xffffff;  // of queue pairs and packets
constexpr const char* kElse = "use --transport auto, which takes TCP then, or --transport tcp";

bool is_possible(const RdmaOffer& offer) {
  if (!offer.refusal.empty()) {
    return offer.qp_type == 0 && offer.frame_bytes == 0 && offer.requests == 0 && offer.mtu == 0 &&
           offer.ends.empty();
  }
  return (offer.qp_type == kReliable || offer.qp_type == kUnreliable) &&
         offer.frame_bytes >= kLeastFrame && offer.frame_bytes <= kMostFrame &&
         offer.requests >= 4 && offer.requests <= kMostRequests && offer.mtu >= 1 &&
         offer.mtu <= kLargestMtu && !offer.ends.empty() &&
         std::all_of(offer.ends.begin(), offer.ends.end(), [](const RdmaEnd& end) {
           return end.qp <= kMostNumber && end.psn <= kMostNumber;
         });
}

}  // namespace

std::vector<std::byte> encode_rdma_offer(const RdmaOffer& offer) {
  WireWriter out;
  out.u32(kRdmaOfferMagic);
  out.u8(static_cast<uint8_t>(offer.qp_type));
  out.u64(offer.frame_bytes);
  out.u16(static_cast<uint16_t>(offer.requests));
  out.u8(static_cast<uint8_t>(offer.mtu));
  out.u8(offer.counted_on ? 1 : 0);
  out.u8(static_cast<uint8_t>(offer.ends.size()));
  for (const RdmaEnd& end : offer.ends) {
    out.bytes(std::as_bytes(std::span(end.gid.raw)));
    out.u16(end.lid);
    out.u32(end.qp);
    out.u32(end.psn);
  }
  out.text(offer.refusal, kPairReasonBytes);
  std::vector<std::byte> bytes = out.take();
  bytes.resize(kRdmaOfferBytes);
  return bytes;
}

std::optional<RdmaOffer> decode_rdma_offer(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  RdmaOffer offer;
  in.u32();
  offer.qp_type = in.u8();
  offer.frame_bytes = in.u64();
  offer.requests = in.u16();
  offer.mtu = in.u8();
  offer.counted_on = in.u8() != 0;
  const size_t ends = in.u8();
  if (ends > kMostRails) return std::nullopt;
  for (size_t i = 0; i < ends; ++i) {
    RdmaEnd end;
    in.bytes(std::as_writable_bytes(std::span(end.gid.raw)));
    end.lid = in.u16();
    end.qp = in.u32();
    end.psn = in.u32();
    offer.ends.push_back(end);
  }
  offer.refusal = in.text();
  if (!in.ok() || !is_possible(offer) || !same_bytes(encode_rdma_offer(offer), bytes)) {
    return std::nullopt;
  }
  offer.refusal = printable(offer.refusal, kPairReasonBytes);
  return offer;
}

RdmaTerms::RdmaTerms(ByteStream& tcp, int self, int peer, bool counted_on,
                     const std::function<Expected<RdmaRails>()>& make)
    : talk_(tcp), self_(self), peer_(peer), counted_on_(counted_on) {
  Expected<RdmaRails> rails = make();
  if (rails) {
    rails_ = std::move(*rails);
  } else {
    refuse(printable(short_reason(rails.error()), kPairReasonBytes), rails.error());
  }
  talk_.say(encode_rdma_offer(own_offer()));
  talk_.await(kRdmaOfferBytes);
}

RdmaOffer RdmaTerms::own_offer() const {
  RdmaOffer offer;
  offer.refusal = reason_;
  offer.counted_on = counted_on_;
  if (rails_.empty()) return offer;
  offer.qp_type = rails_.front()->port()->qp_type();
  offer.frame_bytes = rails_.front()->port()->frame_bytes();
  offer.requests = rails_.front()->requests();
  offer.mtu = rails_.front()->port()->mtu();
  for (const auto& rail : rails_) offer.ends.push_back(rail->end());
  return offer;
}

Expected<bool> RdmaTerms::step() {
  while (true) {
    if (trying_) {
      if (Status looked = look_for_greetings(); !looked) return fail(looked.error());
      if (trying_) return false;
    }
    const Expected<bool> moved = talk_.step();
    if (!moved) return fail(moved.error());
    if (!*moved) return false;
    if (awaits_ == Awaits::kNothing) return true;
    if (Status heard = hear(); !heard) return fail(heard.error());
  }
}

Status RdmaTerms::hear() {
  const Awaits heard = std::exchange(awaits_, Awaits::kNothing);
  if (heard == Awaits::kOffer) return hear_offer();
  if (Status answered = hear_answer(); !answered) return answered;
  return heard == Awaits::kAnswer && !cannot_ ? greet() : Status();
}

Status RdmaTerms::hear_offer() {
  const std::optional<RdmaOffer> theirs = decode_rdma_offer(talk_.heard());
  if (!theirs) {
    return fail_about({peer_}, ErrorCode::kProtocol,
                      fmt::format("rank {} says something else than its queue pairs", peer_),
                      "do all ranks run the same version of plumbline?");
  }
  if (cannot_) return {};  // said, and theirs does not matter
  if (!theirs->refusal.empty()) {
    refuse(fmt::format("rank {}: {}", peer_, theirs->refusal), refused_by_peer(theirs->refusal));
    return {};
  }
  // Ends of one job that are not alike are a fault of its setup, whatever it may fall back to.
  if (const std::string what = differs(*theirs); !what.empty()) {
    if (!counted_on_ && !theirs->counted_on) {
      refuse(what, {ErrorCode::kUnsupported, what, 0, "", ""});
      return {};
    }
    return fail_about(
        {self_, peer_}, ErrorCode::kConfig,
        fmt::format("rank {} and rank {} cannot use RDMA together: {}", self_, peer_, what),
        "give both hosts the same system and the same devices, or run over "
        "--transport tcp");
  }
  const Status connected = connect(*theirs);
  answer(connected ? std::nullopt : std::optional(connected.error()), Awaits::kAnswer);
  return {};
}

void RdmaTerms::answer(const std::optional<Error>& error, Awaits next) {
  std::string reason;
  if (error) {
    reason = printable(short_reason(*error), kPairReasonBytes);
    refuse(reason, *error);
  }
  talk_.say(encode_pair_answer(reason));
  talk_.await(kPairAnswerBytes);
  awaits_ = next;
}

// Both ends are ready, as far as their own devices know.
Status RdmaTerms::greet() {
  for (const auto& rail : rails_) {
    if (const Status said = rail->say_hello(); !said) {
      answer(said.error(), Awaits::kVerdict);
      return {};
    }
  }
  trying_ = true;
  patience_ = Deadline::after_ms(kGreetMs);
  return {};
}

Status RdmaTerms::look_for_greetings() {
  const Deadline look = Deadline::after_ns(kLookNs);
  do {
    bool all = true;
    for (const auto& rail : rails_) {
      const Expected<bool> moved = rail->poll();
      if (!moved) {
        trying_ = false;
        answer(moved.error(), Awaits::kVerdict);
        return {};
      }
      all = all && rail->was_greeted();
    }
    if (all) {
      trying_ = false;
      answer(std::nullopt, Awaits::kVerdict);
      return {};
    }
  } while (!look.passed());
  if (!patience_.passed()) return {};
  trying_ = false;
  const auto silent = std::find_if(rails_.begin(), rails_.end(),
                                   [](const auto& rail) { return !rail->was_greeted(); });
  answer(Error{ErrorCode::kUnsupported,
               fmt::format("the queue pair on {} is ready, but nothing that rank {} sends arrives",
                           (*silent)->port()->device(), peer_),
               0,
               "right cable for this device? Is UDP port 4791 (RoCE) open, the MTU the same at "
               "both ends, the GID of the right network (rdma_gid_index)?",
               "rdma.path"},
         Awaits::kVerdict);
  return {};
}

Status RdmaTerms::hear_answer() {
  const std::optional<std::string> reason = decode_pair_answer(talk_.heard());
  if (!reason) {
    return fail_about({peer_}, ErrorCode::kProtocol,
                      fmt::format("rank {} answers with something else", peer_),
                      "do all ranks run the same version of plumbline?");
  }
  if (!reason->empty() && !cannot_) {
    refuse(fmt::format("rank {}: {}", peer_, *reason), refused_by_peer(*reason));
  }
  return {};
}

Status RdmaTerms::connect(const RdmaOffer& theirs) {
  for (size_t i = 0; i < rails_.size(); ++i) {
    const int mtu = std::min(theirs.mtu, rails_[i]->port()->mtu());
    if (Status done = rails_[i]->connect(theirs.ends[i], mtu, theirs.requests); !done) return done;
  }
  return {};
}

std::string RdmaTerms::differs(const RdmaOffer& theirs) const {
  const RdmaOffer mine = own_offer();
  if (mine.qp_type != theirs.qp_type) {
    return fmt::format("one has queue pairs of the type {}, the other {}",
                       qp_type_name(mine.qp_type), qp_type_name(theirs.qp_type));
  }
  if (mine.frame_bytes != theirs.frame_bytes) {
    return fmt::format("messages of one have {} at most, of the other {}",
                       format_bytes(mine.frame_bytes), format_bytes(theirs.frame_bytes));
  }
  if (mine.ends.size() != theirs.ends.size()) {
    return fmt::format("one has {} devices for the other, which has {}", mine.ends.size(),
                       theirs.ends.size());
  }
  return {};
}

void RdmaTerms::refuse(const std::string& reason, Error error) {
  rails_.clear();
  reason_ = reason;
  error.what = fmt::format("rank {} and rank {} cannot use RDMA: {}", std::min(self_, peer_),
                           std::max(self_, peer_), error.what);
  if (!error.hint.empty()) error.hint += "; ";
  error.hint += kElse;
  error.ranks = {self_, peer_};
  cannot_ = std::move(error);
}

Error RdmaTerms::refused_by_peer(const std::string& reason) const {
  return {ErrorCode::kUnsupported, fmt::format("rank {}: {}", peer_, reason), 0, "", ""};
}

}  // namespace plumbline
