#include "core/temporary_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <system_error>

namespace plumbline {

namespace {

std::filesystem::path system_place() {
  std::error_code ignored;
  return std::filesystem::temp_directory_path(ignored);
}

}  // namespace

TemporaryFolder::TemporaryFolder() : TemporaryFolder(system_place()) {}

TemporaryFolder::TemporaryFolder(const std::filesystem::path& base) {
  std::string name = (base / "plumbline-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace plumbline
