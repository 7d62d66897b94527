// What providers of RDMA can do, as a table: verbs are one interface, but drivers take some of it
// only. Pure; values.
#pragma once

#include <cstddef>
#include <string_view>

#include "transport/rdma/verbs_abi.h"

namespace plumbline {

struct RdmaProfile {
  const char* name;
  const char* device_prefix;  // whose devices are called so; empty = all others
  int qp_type;                // VerbsQpType, the usual one
  bool other_type;            // whether the other one works too
  // The entry of the GID table that goes into the address: this one, or -1 = the first IPv4-mapped
  // one ("::ffff:10.0.0.1"), which RoCE makes of an interface's address.
  int gid_index;
  int mtu;             // of a path, bytes at most
  int hops;            // limit in the address of a path
  int requests;        // that wait in each queue of the transport, at most
  int most_requests;   // that may, where the verbs alone are measured
  size_t frame_bytes;  // of one message of the transport, the usual largest
  size_t most_frame_bytes;
  // Messages are as long as the next of 4 KiB x 2^k, whatever is in them; else as long as need be.
  bool classes;
  unsigned inline_bytes;  // that a send request may carry in itself
  int most_qps;           // of a device, that are known to work; 0 = not known
  int most_regions;
};

// By the device's name; the last row takes what no other does.
const RdmaProfile& profile_of(std::string_view device);

// How long a message with so many bytes in it is.
size_t message_bytes(const RdmaProfile& profile, size_t bytes);

}  // namespace plumbline
