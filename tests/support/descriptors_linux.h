// What a process has open, and what lies in the file system: to see that nothing stays.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <iterator>
#include <string>

namespace plumbline::test {

inline size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// Without following it.
inline bool there(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

}  // namespace plumbline::test
