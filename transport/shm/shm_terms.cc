#include "transport/shm/shm_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "transport/control/wire.h"

namespace plumbline {
ShmTerms::ShmTerms(ByteStream& tcp, PeerReads& reads, int self, int peer, size_t ring_bytes,
                   const std::string& realm, MemoryWay way)
    : talk_(tcp),
      reads_(reads),
      self_(self),
      peer_(peer),
      lower_(self < peer),
      ring_bytes_(std::clamp((ring_bytes + kLeastShmRing - 1) / kLeastShmRing * kLeastShmRing,
                             kLeastShmRing, kMostShmRing)),
      realm_(sha256(realm)),
      way_(way) {
  if (lower_) {
    make_offer();
  } else {
    await(Awaits::kOffer);
  }
}

Expected<bool> ShmTerms::step() {
  while (true) {
    const Expected<bool> moved = talk_.step();
    if (!moved) return fail(moved.error());
    if (!*moved) return false;
    if (awaits_ == Awaits::kNothing) return true;
    if (Status heard = hear(); !heard) return fail(heard.error());
  }
}

void ShmTerms::await(Awaits what) {
  awaits_ = what;
  talk_.await(what == Awaits::kOffer ? kShmOfferBytes : kPairAnswerBytes);
}

void ShmTerms::make_offer() {
  Expected<SharedMemory> memory = SharedMemory::create(memory_bytes());
  if (!memory) {  // said in place of an offer, to which nothing is answered
    cannot_ = memory.error();
    reason_ = printable(short_reason(*cannot_), kPairReasonBytes);
    talk_.say(encode_shm_offer({realm_, {}, 0, {}, reason_}));
    cannot_->what = fmt::format("share memory with rank {}: {}", peer_, cannot_->what);
    cannot_->ranks = {self_, peer_};
    return;
  }
  auto* const sheet = new (memory->data()) ShmSheet{};
  nonce_ = sheet->nonce = random_token();
  reads_.show_badge(sheet->of_lower);
  memory->mark(static_cast<uint32_t>(self_));
  const bool handed = way_ == MemoryWay::kHanded;
  // Before anything is at the path: from now on this end takes it away, whatever happens.
  if (handed) over_ = std::make_unique<Handover>(nonce_, Handover::Part::kConnects);
  const SharedMemoryName name = handed ? SharedMemoryName() : memory->name();
  talk_.say(encode_shm_offer({realm_, name, ring_bytes_, nonce_}));
  memory_.emplace(std::move(*memory));
  await(handed ? Awaits::kMeeting : Awaits::kTaken);
}

Status ShmTerms::hear() {
  const Awaits heard = std::exchange(awaits_, Awaits::kNothing);
  if (heard == Awaits::kOffer) return hear_offer();
  const std::optional<std::string> reason = decode_pair_answer(talk_.heard());
  if (!reason) {
    return fail(ErrorCode::kProtocol,
                fmt::format("rank {} answers an offer of memory with something else", peer_),
                "do all ranks run the same version of plumbline?");
  }
  if (!reason->empty()) {
    refuse(*reason);
  } else if (heard == Awaits::kMeeting) {
    hear_met();
  } else if (heard == Awaits::kHanded) {
    hear_handed();
  } else {
    hear_taken();
  }
  return {};
}

Status ShmTerms::hear_offer() {
  const std::optional<ShmOffer> offer = decode_shm_offer(talk_.heard());
  if (!offer) {
    return fail(ErrorCode::kProtocol,
                fmt::format("rank {} begins with something that is no offer of memory", peer_),
                "do all ranks run the same version of plumbline?");
  }
  if (!offer->refusal.empty()) {
    refuse(offer->refusal);
    return {};
  }
  answer(why_not(*offer));
  if (!cannot_ && way_ == MemoryWay::kHanded) await(Awaits::kHanded);
  return {};
}

std::string ShmTerms::why_not(const ShmOffer& offer) {
  if (offer.realm != realm_) {
    return "they are on different machines, or in different namespaces of one";
  }
  if ((offer.name == SharedMemoryName()) != (way_ == MemoryWay::kHanded))
    return "the one gives memory a name, the other hands it over";
  ring_bytes_ = offer.ring_bytes;
  nonce_ = offer.nonce;
  if (way_ == MemoryWay::kNamed) {
    Expected<SharedMemory> memory = SharedMemory::open(offer.name, memory_bytes());
    return memory ? use(std::move(*memory)) : short_reason(memory.error());
  }
  over_ = std::make_unique<Handover>(nonce_, Handover::Part::kListens);
  const Status met = over_->meet();
  return met ? std::string() : short_reason(met.error());
}

// The other end can be met.
void ShmTerms::hear_met() {
  std::string reason;
  if (const Status met = over_->meet(); !met) {
    reason = short_reason(met.error());
  } else if (!over_->send(0, memory_bytes(), memory_->descriptor())) {
    reason = "the system does not hand memory from one process to the other";
  }
  answer(reason);
  if (!cannot_) await(Awaits::kTaken);
}

void ShmTerms::hear_handed() { answer(why_not_handed()); }

std::string ShmTerms::why_not_handed() {
  Expected<std::optional<HandedMemory>> handed = over_->receive();
  if (!handed) return short_reason(handed.error());
  if (!*handed) return "no memory was handed over";
  HandedMemory& came = **handed;
  if (came.id != 0 || came.bytes != memory_bytes()) return "the memory is not the one offered";
  Expected<SharedMemory> memory =
      SharedMemory::adopt(std::move(came.memory), memory_bytes(), SharedMemory::Access::kWrite);
  return memory ? use(std::move(*memory)) : short_reason(memory.error());
}

// The higher rank has the memory before it.
std::string ShmTerms::use(SharedMemory memory) {
  if (!equal_digest(sheet_of(memory).nonce, nonce_))
    return "the memory there is not the one offered";
  memory_.emplace(std::move(memory));
  reads_.show_badge(own_terms());
  memory_->mark(static_cast<uint32_t>(self_));
  reads_.try_peer(own_terms(), peer_terms(), memory_->marked_by(static_cast<uint32_t>(peer_)));
  return {};
}

void ShmTerms::hear_taken() {
  const std::optional<int64_t> process = memory_->marked_by(static_cast<uint32_t>(peer_));
  memory_->drop_name();
  reads_.try_peer(own_terms(), peer_terms(), process);
}

ReadTerms& ShmTerms::own_terms() const {
  return lower_ ? sheet_of(*memory_).of_lower : sheet_of(*memory_).of_higher;
}
const ReadTerms& ShmTerms::peer_terms() const {
  return lower_ ? sheet_of(*memory_).of_higher : sheet_of(*memory_).of_lower;
}

// Empty = yes.
void ShmTerms::answer(const std::string& reason) {
  talk_.say(encode_pair_answer(reason));
  if (!reason.empty()) refuse(reason);
}

void ShmTerms::refuse(const std::string& reason) {
  memory_.reset();
  over_.reset();
  reason_ = reason;
  cannot_ = Error{ErrorCode::kUnsupported,
                  fmt::format("rank {} and rank {} cannot share memory: {}", std::min(self_, peer_),
                              std::max(self_, peer_), reason),
                  0,
                  "use --transport auto, which takes TCP then, or --transport tcp",
                  "",
                  {peer_, self_}};
}

}  // namespace plumbline
