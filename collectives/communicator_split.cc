// A Communicator that was split: how a group of its ranks comes to be.
//
// A group that is split off has connections of its own, made as connect() makes them; its parent
// takes the place of the exchange. So no operation ever meets the messages of another group, a
// group that fails takes no other with it, and the numbers by which ranks find out who is at fault
// stay those of one history. The price is in docs/library.md.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "collectives/communicator_impl.h"
#include "transport/control/wire.h"

namespace plumbline {
namespace {

constexpr size_t kMostSaid = 64 * 1024;  // bytes of one rank's endpoint
constexpr size_t kMostReason = 1000;     // bytes, of why there is none

const CallPurpose& split_purpose() {
  static const CallPurpose purpose{1, "split"};
  return purpose;
}

// What every rank says first. Whole numbers of 64 bits, which an operation can carry.
struct Wish {
  int64_t joins = 0;  // 0 = it has no colour
  int64_t colour = 0, key = 0;
  int64_t ready = 0;  // 0 = what follows is the reason why it has no endpoint
  int64_t bytes = 0;  // of what follows
};
constexpr size_t kWishNumbers = sizeof(Wish) / sizeof(int64_t);

// The ranks of `self`'s group, in the order of their new numbers.
std::vector<int> members_of(const std::vector<Wish>& wishes, size_t self) {
  std::vector<int> members;
  for (size_t rank = 0; rank < wishes.size(); ++rank) {
    const bool with_us = wishes[rank].joins != 0 && wishes[rank].colour == wishes[self].colour;
    if (with_us) members.push_back(static_cast<int>(rank));
  }
  std::stable_sort(members.begin(), members.end(), [&wishes](int a, int b) {
    return wishes[static_cast<size_t>(a)].key < wishes[static_cast<size_t>(b)].key;
  });
  return members;
}

Error about(int rank, ErrorCode code, std::string what) {
  return {code, std::move(what), 0, {}, {}, {rank}};
}

}  // namespace

Status CommunicatorImpl::gather_for_split(ConstBuffer mine, Buffer all) {
  Call call{Op::kAllgather, mine, all};
  call.purpose = &split_purpose();
  const Expected<uint64_t> ticket = try_start(call);
  if (!ticket) return fail(ticket.error());
  return wait_for(*ticket, Deadline::after_ms(patience_ms()));
}

Expected<std::shared_ptr<CommunicatorImpl>> CommunicatorImpl::split(std::optional<int> colour,
                                                                    int key) {
  if (!family_) {
    family_ = std::make_shared<CommunicatorFamily>();
    family_->add(*this);
  }
  const Entry entry(*this);
  auto child = with_memory("split", [&] { return try_split(colour, key); });
  if (!child) return fail(in_words(child.error()));
  return child;
}

// A rank that cannot take part says so to the others, and takes part in saying it.
Expected<std::shared_ptr<CommunicatorImpl>> CommunicatorImpl::try_split(std::optional<int> colour,
                                                                        int key) {
  const auto ranks = static_cast<size_t>(size_), self = static_cast<size_t>(rank_);
  Expected<Arrival> arrival = colour ? arrive(0) : Expected<Arrival>(Arrival{});
  const std::string mine =
      arrival ? arrival->endpoint : arrival.error().message().substr(0, kMostReason);
  const Wish wish{colour ? 1 : 0, colour.value_or(0), key, arrival ? 1 : 0,
                  static_cast<int64_t>(mine.size())};
  std::vector<Wish> wishes(ranks);
  Status told = gather_for_split({&wish, kWishNumbers, DType::kI64},
                                 {wishes.data(), ranks * kWishNumbers, DType::kI64});
  if (!told) return fail(told.error());
  size_t most = 1;
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (wishes[rank].bytes < 0 || static_cast<uint64_t>(wishes[rank].bytes) > kMostSaid) {
      return fail(
          about(static_cast<int>(rank), ErrorCode::kProtocol,
                fmt::format("split: rank {} announces {} bytes", rank, wishes[rank].bytes)));
    }
    most = std::max(most, static_cast<size_t>(wishes[rank].bytes));
  }
  std::string padded = mine;
  padded.resize(most);
  std::string all(ranks * most, '\0');
  told = gather_for_split({padded.data(), most, DType::kU8}, {all.data(), all.size(), DType::kU8});
  if (!told) return fail(told.error());
  if (!arrival) return fail(arrival.error());
  if (!colour) return nullptr;

  const std::vector<int> members = members_of(wishes, self);
  std::vector<std::string> endpoints;
  int own = 0;
  for (const int rank : members) {
    const auto r = static_cast<size_t>(rank);
    if (rank == rank_) own = static_cast<int>(endpoints.size());
    endpoints.push_back(all.substr(r * most, static_cast<size_t>(wishes[r].bytes)));
    if (wishes[r].ready != 0) continue;
    return fail(
        about(rank, ErrorCode::kAborted,
              fmt::format("split: rank {} cannot take its place in the group of colour {}: {}",
                          rank, *colour, printable(endpoints.back(), kMostReason))));
  }
  std::shared_ptr<CommunicatorImpl> child(
      new CommunicatorImpl(own, static_cast<int>(members.size()), options_, given_));
  child->kernels_ = kernels_;
  child->meeting_ = meeting_;
  child->crowd_ = crowd_;
  child->parent_ranks_ = members;
  const Status joined = child->join(std::move(arrival->claim), endpoints, to_hex(token_));
  if (!joined) {
    Error error = child->in_words(joined.error());
    for (int& rank : error.ranks) rank = members[static_cast<size_t>(rank)];  // of this group now
    return fail(std::move(error));
  }
  child->family_ = family_;
  family_->add(*child);
  return child;
}

Error CommunicatorImpl::in_words(Error error) const {
  std::string both;
  for (const int rank : error.ranks) {
    if (static_cast<size_t>(rank) >= parent_ranks_.size()) continue;
    both += fmt::format("{}rank {} is the parent's rank {}", both.empty() ? "" : ", ", rank,
                        parent_ranks_[static_cast<size_t>(rank)]);
  }
  if (!both.empty()) error.what += fmt::format(" (in a group that was split off: {})", both);
  return error;
}

}  // namespace plumbline
