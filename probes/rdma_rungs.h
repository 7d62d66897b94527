// The steps to a queue pair on one RDMA device and of one with another host, in their order, and of
// which cause it is a sign where one fails. Pure.
#pragma once

#include <span>
#include <string_view>

namespace plumbline {

struct RdmaRungRow {
  const char* name;
  const char* cause;
  const char* what;  // "a protection domain cannot be made"
};
std::span<const RdmaRungRow> rdma_rungs();  // on one device
std::span<const RdmaRungRow>
rdma_pair_rungs();  // with another host's; without a cause = no verdict
// nullptr: there is none of that name.
const RdmaRungRow* find_rdma_rung(std::string_view name);

}  // namespace plumbline
