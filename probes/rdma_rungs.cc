#include "probes/rdma_rungs.h"

#include "core/ranges.h"

namespace plumbline {
namespace {

constexpr RdmaRungRow kRungs[] = {
    {"library", "rdma.no_library", "the verbs library cannot be loaded"},
    {"device", "rdma.no_device", "the verbs library does not list the device"},
    {"open", "rdma.no_device", "the device cannot be opened"},
    {"port", "rdma.port_down", "the port is not active"},
    {"gid", "rdma.no_gid", "there is no usable GID"},
    {"pd", "rdma.pd", "a protection domain cannot be made"},
    {"cq", "rdma.cq_limit", "a completion queue cannot be made"},
    {"qp", "rdma.qp_limit", "a queue pair cannot be made"},
    {"mr", "rdma.mr_limit", "memory cannot be registered"},
    {"init", "rdma.rtr", "the queue pair does not take its port"},
};

}  // namespace

std::span<const RdmaRungRow> rdma_rungs() { return kRungs; }

const RdmaRungRow* find_rdma_rung(std::string_view name) {
  return find_where(kRungs, [&](const RdmaRungRow& row) { return name == row.name; });
}

}  // namespace plumbline
