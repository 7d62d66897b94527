#include "transport/tcp/pair_talk.h"

#include <algorithm>

#include "transport/control/wire.h"

namespace plumbline {

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::string short_reason(Error error) {
  error.hint.clear();
  return error.message();
}

std::vector<std::byte> encode_pair_answer(const std::string& reason) {
  WireWriter out;
  out.u8(reason.empty() ? 1 : 0);
  out.text(reason, kPairReasonBytes);
  std::vector<std::byte> bytes = out.take();
  bytes.resize(kPairAnswerBytes);
  return bytes;
}

std::optional<std::string> decode_pair_answer(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  in.u8();
  const std::string reason = in.text();
  if (!in.ok() || !same_bytes(encode_pair_answer(reason), bytes)) return std::nullopt;
  return printable(reason, kPairReasonBytes);
}

}  // namespace plumbline
