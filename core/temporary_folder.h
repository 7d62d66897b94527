// A folder of our own, with a fresh name and for this user only, under the system's place for
// temporary files or another one, removed with everything in it at the end of its owner's life.
#pragma once

#include <filesystem>

namespace plumbline {

class TemporaryFolder {
 public:
  // path() is empty when none could be made, and errno says why.
  TemporaryFolder();
  explicit TemporaryFolder(const std::filesystem::path& base);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace plumbline
