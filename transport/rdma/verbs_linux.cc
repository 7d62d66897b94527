#include <sys/auxv.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "transport/rdma/verbs.h"

namespace plumbline {

std::vector<std::string> verbs_library_names() { return {"libibverbs.so.1", "libibverbs.so"}; }

size_t most_message_of_system() { return 0; }

bool may_have_rdma_devices() {
  std::error_code error;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband", error);
  return !error && devices != std::filesystem::directory_iterator();
}

std::string gid_type(const std::string& device, int port, int index) {
  std::ifstream file("/sys/class/infiniband/" + device + "/ports/" + std::to_string(port) +
                     "/gid_attrs/types/" + std::to_string(index));
  std::string type;
  std::getline(file, type);
  return type;
}

// The kernel tells a program where its loader was put, see getauxval(3).
bool loads_libraries() { return getauxval(AT_BASE) != 0; }

}  // namespace plumbline
