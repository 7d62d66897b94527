// What the two ends of a pair say to one another over their connection while they come to terms:
// texts of lengths that both know, so that what follows on the connection is never touched. Moves
// on and waits for nothing. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "transport/channel/byte_stream.h"

namespace plumbline {

inline constexpr size_t kPairReasonBytes = 200;  // longer ones are cut
inline constexpr size_t kPairAnswerBytes = 1 + 2 + kPairReasonBytes;

// Why this end cannot; empty = it can.
std::vector<std::byte> encode_pair_answer(const std::string& reason);
// Nothing = bytes that no answer is made of.
std::optional<std::string> decode_pair_answer(std::span<const std::byte> bytes);
// The system's answer without advice, which is for whoever asked for more than TCP by name.
std::string short_reason(Error error);
// For decoders of a fixed length: what was read must be byte for byte what it says.
bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b);

class PairTalk {
 public:
  explicit PairTalk(ByteStream& tcp) : tcp_(tcp) {}

  void say(std::vector<std::byte> bytes) { outbox_ = std::move(bytes); }
  void await(size_t bytes) {
    inbox_.resize(bytes);
    got_ = 0;
  }
  // true = everything is said, and what is awaited has come.
  Expected<bool> step() {
    while (!outbox_.empty()) {
      const iovec rest{outbox_.data(), outbox_.size()};
      const Expected<size_t> sent = tcp_.write_some({&rest, 1});
      if (!sent) return fail(sent.error());
      if (*sent == 0) return false;
      outbox_.erase(outbox_.begin(), outbox_.begin() + static_cast<std::ptrdiff_t>(*sent));
    }
    while (got_ < inbox_.size()) {
      const iovec rest{inbox_.data() + got_, inbox_.size() - got_};
      const Expected<size_t> got = tcp_.read_some({&rest, 1});
      if (!got) return fail(got.error());
      if (*got == 0) return false;
      got_ += *got;
    }
    return true;
  }
  bool has_to_write() const { return !outbox_.empty(); }
  std::span<const std::byte> heard() const { return inbox_; }

 private:
  ByteStream& tcp_;
  std::vector<std::byte> outbox_, inbox_;
  size_t got_ = 0;
};

}  // namespace plumbline
