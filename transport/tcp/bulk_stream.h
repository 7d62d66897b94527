// Two streams to one peer as one: the first for all but large messages, which go over the second
// (ByteStream::bulk()).
#pragma once

#include <memory>

#include "transport/channel/byte_stream.h"

namespace plumbline {

std::unique_ptr<ByteStream> make_bulk_stream(std::unique_ptr<ByteStream> main,
                                             std::unique_ptr<ByteStream> bulk);

}  // namespace plumbline
