// The programs that host files are written for, as MLX names them: what each needs of a file, and
// what its processes read when they start. mlx.launch makes these files and variables itself; here
// they are for whoever starts processes in another way. Source: mlx/_distributed_utils/launch.py
// and the readers in mlx/distributed. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scenarios/host_files/host_file.h"
#include "scenarios/json_text.h"

namespace plumbline {

// What one rank per place reads: files by name, and for each rank its variables in the order in
// which they are set (MLX_RANK last).
struct LaunchFiles {
  struct Named {
    std::string name, text;
  };
  std::vector<Named> files;
  std::vector<EnvironmentList> environment;
};

struct LaunchRequest {
  std::string folder;  // absolute: where the files will lie, on every host
  int port = 0;        // the first one; 0 = the backend's own (32323, nccl 12345)
};

struct BackendRow {
  const char* name;
  const char* help;
  void (*check)(const HostFile& file, Problems& problems);
  Expected<LaunchFiles> (*files)(const HostFile& file, const LaunchRequest& request);
};

std::span<const BackendRow> backend_table();
const BackendRow* find_backend(const std::string& name);  // nullptr: none

// All that is wrong with a file that could be read, whatever it is for: hosts listed twice,
// addresses of two hosts, devices that do not pair up. With a backend, also what that one needs.
std::vector<ScenarioProblem> check_host_file(const HostFile& file, const BackendRow* backend);
// "$.hosts[1].rdma[0]", "$[1][0]".
std::string cell_place(const HostFile& file, size_t i, size_t j);
// The rules that hold for every device matrix; whether all hosts have a row of the right length.
bool check_matrix(const HostFile& file, Problems& problems);

}  // namespace plumbline
