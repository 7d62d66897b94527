#include "core/temporary_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <system_error>

namespace plumbline {

TemporaryFolder::TemporaryFolder() {
  std::error_code ignored;
  std::string name = (std::filesystem::temp_directory_path(ignored) / "plumbline-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace plumbline
