#include "scenarios/host_files/formats.h"

#include "scenarios/host_files/facts.h"

namespace plumbline {
namespace {

constexpr unsigned kOwnFacts = kFactName | kFactReach | kFactUser | kFactSshDetails | kFactBinary |
                               kFactData | kFactPrefix | kFactInterface | kFactSpeed | kFactGroup |
                               kFactRanks | kFactMatrix | kFactBackend | kFactEnvs |
                               kFactCoordinator;
constexpr unsigned kMlxFacts = kFactReach | kFactUser | kFactData | kFactMatrix | kFactCoordinator |
                               kFactControl | kFactFacing;

// The first that recognises a file reads it.
// name, help, names machines, keeps, recognise, read, write
constexpr HostFileFormat kFormats[] = {
    {"ours",
     "plumbline's own: {\"hosts\": [{\"name\": ..., \"ssh\": ..., \"data\": [...]}, ...]}, with "
     "\"backend\", \"envs\" and \"coordinator\" where they are wanted",
     true, kOwnFacts, is_own_form, read_own_form, write_own_form},
    {"mlx",
     "MLX: {\"backend\": ..., \"envs\": [...], \"hosts\": [{\"ssh\", \"ips\", \"rdma\"}, ...]}",
     true, kMlxFacts | kFactBackend | kFactEnvs, is_mlx_object, read_mlx, write_mlx_object},
    {"mlx-array", "MLX, the bare list: [{\"ssh\", \"ips\", \"rdma\"}, ...]", true, kMlxFacts,
     is_mlx_array, read_mlx, write_mlx_array},
    {"ring", "what an MLX ring's processes read (MLX_HOSTFILE): [[\"ip:port\", ...], ...]", true,
     kFactData | kFactPorts | kFactFacing | kFactRingBackend, is_ring_file, read_ring_file,
     write_ring_file},
    {"jaccl-matrix", "what JACCL's processes read (MLX_IBV_DEVICES): [[null, \"rdma_en3\"], ...]",
     false, kFactMatrix, is_device_matrix, read_device_matrix, write_device_matrix},
    {"mpi", "MPI's list: lines of HOST slots=N (Open MPI) or HOST:N (MPICH)", true,
     kFactReach | kFactRanks, is_mpi_list, read_mpi_list, write_mpi_list},
};

}  // namespace

std::span<const HostFileFormat> host_file_formats() { return kFormats; }

const HostFileFormat* find_host_file_format(const std::string& name) {
  for (const HostFileFormat& row : kFormats) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

}  // namespace plumbline
