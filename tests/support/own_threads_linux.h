// Other names of this process. What is reached by the number of a process is reached by that of any
// of its threads too, and a sanitizer has one that nobody started.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>

namespace plumbline::test {

inline bool is_own_thread(uint64_t number) {
  return ::access(("/proc/self/task/" + std::to_string(number)).c_str(), F_OK) == 0;
}

}  // namespace plumbline::test
