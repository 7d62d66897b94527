// A folder of our own under the system's place for temporary files, removed with everything in it
// at the end of its owner's life.
#pragma once

#include <filesystem>

namespace plumbline {

class TemporaryFolder {
 public:
  TemporaryFolder();  // path() is empty when none could be made
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace plumbline
