#include <sys/auxv.h>

#include "transport/rdma/verbs.h"

namespace plumbline {

std::vector<std::string> verbs_library_names() { return {"libibverbs.so.1", "libibverbs.so"}; }

// The kernel tells a program where its loader was put, see getauxval(3).
bool loads_libraries() { return getauxval(AT_BASE) != 0; }

}  // namespace plumbline
