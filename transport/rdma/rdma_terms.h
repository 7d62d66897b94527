// How the two ranks of a pair come to use RDMA, or to know why they cannot, over their connection.
// Both make their queue pairs and say at once what they are (an offer), or why they have none; both
// connect theirs to the other's and answer whether that worked. Ends that would not understand one
// another (RC beside UC, frames of other sizes) are refused, at both ends alike. At last
// each end sends a message and says whether the other's has come: a queue pair is ready also where
// nothing arrives. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "transport/rdma/rdma_rail.h"
#include "transport/tcp/pair_talk.h"

namespace plumbline {

using RdmaRails = std::vector<std::unique_ptr<RdmaRail>>;

inline constexpr size_t kMostRails = 4;  // cables between two hosts

// Of one end. All its rails are alike.
struct RdmaOffer {
  std::string refusal = {};  // why nothing is offered; then all below is zero
  int qp_type = 0;
  uint64_t frame_bytes = 0;
  int requests = 0;         // receives posted on each
  int mtu = 0;              // code of VerbsPort
  bool counted_on = false;  // somebody has asked for it: ends that differ are an error
  std::vector<RdmaEnd> ends = {};
};
inline constexpr size_t kRdmaEndBytes = 16 + 2 + 4 + 4;
inline constexpr size_t kRdmaOfferBytes =
    4 + 2 + kPairReasonBytes + 1 + 8 + 2 + 1 + 1 + 1 + kMostRails * kRdmaEndBytes;

std::vector<std::byte> encode_rdma_offer(const RdmaOffer& offer);
// Nothing = bytes that no offer is made of.
std::optional<RdmaOffer> decode_rdma_offer(std::span<const std::byte> bytes);

class RdmaTerms {
 public:
  // `make` makes this end's rails, one for each cable to the peer; it is called once, now.
  RdmaTerms(ByteStream& tcp, int self, int peer, bool counted_on,
            const std::function<Expected<RdmaRails>()>& make);

  // As far as it goes without waiting (for a message that is under way, a millisecond); true =
  // they have come to terms, or to none.
  Expected<bool> step();
  bool has_to_write() const { return talk_.has_to_write(); }
  // What it waits for comes over the rails, of which no descriptor tells.
  bool is_trying() const { return trying_; }

  // Once step() has said true: why they do not, and the same in short; or the rails.
  const std::optional<Error>& cannot() const { return cannot_; }
  const std::string& reason() const { return reason_; }
  RdmaRails take_rails() { return std::move(rails_); }

 private:
  enum class Awaits : uint8_t { kNothing, kOffer, kAnswer, kVerdict };

  RdmaOffer own_offer() const;
  Status hear();
  Status hear_offer();
  Status hear_answer();
  Status greet();
  Status look_for_greetings();
  void answer(const std::optional<Error>& error, Awaits next);
  Status connect(const RdmaOffer& theirs);
  std::string differs(const RdmaOffer& theirs) const;
  void refuse(const std::string& reason, Error error);
  Error refused_by_peer(const std::string& reason) const;

  PairTalk talk_;
  const int self_, peer_;
  const bool counted_on_;
  Awaits awaits_ = Awaits::kOffer;
  RdmaRails rails_;
  std::optional<Error> cannot_;
  std::string reason_;
  bool trying_ = false;
  Deadline patience_ = Deadline::after_ms(0);
};

}  // namespace plumbline
