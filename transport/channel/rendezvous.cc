#include "transport/channel/rendezvous.h"

#include <fmt/format.h>

#include <utility>

namespace plumbline {

Status OfferTable::add(Offer offer) {
  if (offers_.size() >= kMostUnasked) {
    return fail(ErrorCode::kProtocol,
                fmt::format("{} messages are offered that nobody asked for", offers_.size()),
                "do all ranks run the same version of plumbline?");
  }
  offers_.push_back(std::move(offer));
  return {};
}

void OfferTable::remove(size_t index) {
  offers_.erase(offers_.begin() + static_cast<ptrdiff_t>(index));
}

size_t OfferTable::find(const MessageTag& tag) const {
  for (size_t i = 0; i < offers_.size(); ++i) {
    if (same_name(offers_[i].tag, tag)) return i;
  }
  return kNone;
}

size_t OfferTable::find_rival(const MessageTag& tag) const {
  for (size_t i = 0; i < offers_.size(); ++i) {
    if (offers_[i].posted == kNoSlot && rivals(offers_[i].tag, tag)) return i;
  }
  return kNone;
}

bool OfferTable::any_to_take() const {
  for (size_t i = 0; i < offers_.size(); ++i) {
    if (can_take(i)) return true;
  }
  return false;
}

}  // namespace plumbline
