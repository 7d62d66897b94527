#include "transport/rdma/verbs.h"

namespace plumbline {

std::vector<std::string> verbs_library_names() {
  return {"/usr/lib/librdma.dylib", "librdma.dylib", "libibverbs.dylib"};
}

bool loads_libraries() { return true; }

}  // namespace plumbline
