// What providers of RDMA can do, as a table: verbs are one interface, but drivers take some of it
// only. Pure; values.
#pragma once

#include <string_view>

#include "transport/rdma/verbs_abi.h"

namespace plumbline {

struct RdmaProfile {
  const char* name;
  const char* device_prefix;  // whose devices are called so; empty = all others
  int qp_type;                // VerbsQpType
  // The entry of the GID table that goes into the address: this one, or -1 = the first IPv4-mapped
  // one ("::ffff:10.0.0.1"), which RoCE makes of an interface's address.
  int gid_index;
  int requests;  // that may wait in each queue
  int most_qps;  // of a device, that are known to work; 0 = not known
  int most_regions;
};

// By the device's name; the last row takes what no other does.
const RdmaProfile& profile_of(std::string_view device);

}  // namespace plumbline
