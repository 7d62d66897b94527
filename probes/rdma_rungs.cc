#include "probes/rdma_rungs.h"

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

constexpr RdmaRungRow kPairRungs[] = {
    {"talk", "", "the two ends cannot tell one another their queue pairs over TCP"},
    {"open", "rdma.no_device", "the device cannot be opened"},
    {"qp", "rdma.qp_limit", "a queue pair cannot be made"},
    {"rtr", "rdma.rtr", "the queue pair does not become ready to receive from the other host"},
    {"echo", "rdma.path", "4 KiB do not come back over the queue pair"},
    {"rate", "rdma.path", "not all of many messages arrive"},
};

// Told beside the others, with a number and no verdict of their own.
constexpr RdmaRungRow kCounts[] = {
    {"qps", "rdma.qp_limit", "queue pairs that can be made"},
    {"mrs", "rdma.mr_limit", "regions that can be registered"},
};

}  // namespace

std::span<const RdmaRungRow> rdma_rungs() { return kRungs; }
std::span<const RdmaRungRow> rdma_pair_rungs() { return kPairRungs; }

const RdmaRungRow* find_rdma_rung(std::string_view name) {
  for (const std::span<const RdmaRungRow> rows :
       {rdma_rungs(), rdma_pair_rungs(), std::span<const RdmaRungRow>(kCounts)}) {
    for (const RdmaRungRow& row : rows) {
      if (name == row.name) return &row;
    }
  }
  return nullptr;
}

}  // namespace plumbline
