// A ByteStream wrapper that spoils a stream on purpose, for tests of everything above it and for
// proofs that wrong data and lost peers are noticed. Spec: "KIND[:key=value[,key=value]...]", e.g.
// "flip:rank=1,peer=0,after=4096":
//   flip   one bit of the byte sent at offset `after` (payload and headers counted)
//   delay  every write is held back by `us` microseconds and `ns` nanoseconds (never blocks:
//          would-block until the time is there; 0 = the wrapper alone)
//   short  at most `bytes` bytes a call, both ways
//   stall  after `after` bytes nothing moves any more
//   close  after `after` bytes the stream ends
// `rank` and `peer` choose the stream (absent = all). Not thread-safe, like every stream.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transport/channel/byte_stream.h"

namespace plumbline {

struct FaultSpec {
  std::string kind;
  std::optional<int> rank, peer;
  uint64_t after = 0;  // bytes sent before it strikes
  uint64_t bytes = 1;  // for short
  int64_t us = 0;      // for delay, microseconds
  int64_t ns = 0;      // for delay, nanoseconds more
};

// Empty text = no fault.
Expected<std::optional<FaultSpec>> parse_fault(const std::string& text);
// Wraps when the spec names this stream, otherwise returns it unchanged.
std::unique_ptr<ByteStream> wrap_fault(const std::optional<FaultSpec>& spec, int self, int peer,
                                       std::unique_ptr<ByteStream> stream);

}  // namespace plumbline
