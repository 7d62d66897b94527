#include "core/text_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <utility>

namespace plumbline {

Status write_text_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  return fail_errno(ErrorCode::kConfig, "write " + path, errno);
}

Status replace_text_file(const std::string& path, const std::string& text, std::string hint) {
  const std::string fresh = path + fmt::format(".{}.tmp", getpid());
  const Status wrote = write_text_file(fresh, text);
  if (wrote && std::rename(fresh.c_str(), path.c_str()) == 0) return {};
  const int why = wrote ? errno : wrote.error().sys_errno;
  std::remove(fresh.c_str());
  return fail_errno(ErrorCode::kConfig, "write " + path, why, std::move(hint));
}

}  // namespace plumbline
