// The roofs of two ranks that talk over RDMA: a queue pair of their own beside those of their
// stream, and the verbs alone (transport/rdma/bare_verbs.h). Both ends call the same functions at
// the same time, with nothing framed under way. One thread, that of the group.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "transport/channel/byte_stream.h"
#include "transport/group.h"
#include "transport/rdma/bare_verbs.h"

namespace plumbline {

class VerbsRoof {
 public:
  // Null where the stream does not go over RDMA, or over several cables, or an end cannot make
  // another queue pair or messages of that size: then the stream itself is the path. `whole`: all
  // bytes are one message; else many are under way, and nothing may be lost (RC).
  static Expected<std::unique_ptr<VerbsRoof>> join(ByteStream& stream, uint64_t bytes, bool whole,
                                                   const WaitOptions& wait, Deadline deadline);

  // As raw_pingpong() (transport/channel/raw.h), by SEND.
  Status round_trips(bool begins, int count, const WaitOptions& wait, Deadline deadline,
                     std::vector<int64_t>* times);
  // As raw_stream(), in SENDs of at most 1 MiB; confirmed over the stream. *ns of the receiver is
  // 0.
  Status one_way(bool sends, ByteStream& stream, const WaitOptions& wait, Deadline deadline,
                 int64_t& ns);

 private:
  VerbsRoof(std::unique_ptr<BareVerbs> pair, uint64_t bytes, uint64_t message)
      : pair_(std::move(pair)), bytes_(bytes), message_(message) {}

  std::unique_ptr<BareVerbs> pair_;
  const uint64_t bytes_, message_;
};

}  // namespace plumbline
