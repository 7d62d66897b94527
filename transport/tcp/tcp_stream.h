// A ByteStream over a connected TCP socket: one non-blocking sendmsg(2) or recvmsg(2) per call.
#pragma once

#include <memory>
#include <string>

#include "core/fd.h"
#include "transport/channel/byte_stream.h"

namespace plumbline {

// Takes a connected, non-blocking socket over. `peer` stands in errors: "rank 1 on mini2".
std::unique_ptr<ByteStream> make_tcp_stream(Fd fd, std::string peer);

}  // namespace plumbline
