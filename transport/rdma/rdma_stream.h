// A ByteStream over queue pairs of RDMA. It begins as a pair's authenticated TCP connection, over
// which both ends come to terms (rdma_terms.h), and keeps it for three things: as the sign that the
// other end lives, to compare on UC how many frames were sent and came, and to go on over where a
// pair cannot use RDMA after all. Frames go over the rails in turn. Used by one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "transport/channel/byte_stream.h"
#include "transport/rdma/rdma_arrays.h"
#include "transport/rdma/rdma_terms.h"

namespace plumbline {

// The end of rank `self` of the connection `tcp`. Makes its rails at once, by `make`; the rest is
// as of make_shm_stream (transport/shm/shm.h). `counted_on`: somebody has asked for RDMA. On RC the
// other end may read out of `arrays`.
std::unique_ptr<ByteStream> make_rdma_stream(std::unique_ptr<ByteStream> tcp, int self, int peer,
                                             bool counted_on,
                                             const std::function<Expected<RdmaRails>()>& make,
                                             std::function<void(const std::string&)> stays,
                                             std::shared_ptr<RdmaArrays> arrays = nullptr);

}  // namespace plumbline
