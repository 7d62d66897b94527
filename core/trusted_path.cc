#include "core/trusted_path.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "core/input_file.h"
#include "core/shell_words.h"

namespace plumbline {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO, kOthersWrite = S_IWGRP | S_IWOTH;
constexpr mode_t kPermissions = 07777;

bool ours(const struct stat& info) { return info.st_uid == geteuid() || info.st_uid == 0; }

// Inside a user namespace whoever is not mapped has this number, root of the machine among them,
// user_namespaces(7); elsewhere it is an ordinary user.
bool unmapped(const struct stat& info) {
  constexpr uid_t kOverflow = 65534;
  uint64_t inside = 0, outside = 0, count = 0;
  std::ifstream map("/proc/self/uid_map");
  const bool whole = !(map >> inside >> outside >> count) || count == UINT32_MAX;
  return info.st_uid == kOverflow && !whole;
}

Error not_ours(const std::string& path, const struct stat& info) {
  return Error{ErrorCode::kConfig,
               fmt::format("{} belongs to user {}, who can change it", path, info.st_uid), 0,
               fmt::format("sudo chown {} {}", geteuid(), shell_word(path)), ""};
}

Status check_folder(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0)
    return fail_errno(ErrorCode::kConfig, "look at " + path, errno);
  if (!S_ISDIR(info.st_mode)) return fail(ErrorCode::kConfig, path + " is no folder");
  if (!ours(info) && !unmapped(info)) return fail(not_ours(path, info));
  if ((info.st_mode & kOthersWrite) == 0 || (info.st_mode & S_ISVTX) != 0) return {};
  return fail(ErrorCode::kConfig,
              fmt::format("others may write to {} (mode {:o}) and so replace what lies in it", path,
                          info.st_mode & kPermissions),
              "chmod go-w " + shell_word(path));
}

// From / to `path`, which is absolute.
Status check_each(const std::string& path) {
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at + 1), path.size());
    if (const Status fine = check_folder(path.substr(0, end)); !fine) return fine;
    at = end;
  }
  return {};
}

Status check_secret_file(const Fd& file, const std::string& path) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0)
    return fail_errno(ErrorCode::kConfig, "look at " + path, errno);
  if (!ours(info)) return fail(not_ours(path, info));
  if ((info.st_mode & kOthers) == 0) return {};
  return fail(ErrorCode::kConfig,
              fmt::format("others may {} {} (mode {:o}), so that it is no secret",
                          (info.st_mode & kOthersWrite) != 0 ? "write to" : "read", path,
                          info.st_mode & kPermissions),
              "chmod 600 " + shell_word(path));
}

}  // namespace

Expected<std::string> read_secret_file(const std::string& path, size_t most_bytes) {
  const Expected<Fd> file = open_input_file(path);
  if (!file) return fail(file.error());
  if (const Status secret = check_secret_file(*file, path); !secret) return fail(secret.error());
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (const Status safe = check_folders_above(folder); !safe) return fail(safe.error());
  return read_whole(*file, path, most_bytes);
}

Status check_folders_above(const std::string& folder) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(folder.c_str(), nullptr), std::free);
  if (real == nullptr) return fail_errno(ErrorCode::kConfig, "look at " + folder, errno);
  const std::string resolved = real.get();
  if (const Status checked = check_folder("/"); !checked) return checked;
  if (const Status checked = check_each(resolved); !checked) return checked;
  // Also the folders in which links stand that lead there.
  return folder == resolved || folder.empty() || folder.front() != '/' ? Status()
                                                                       : check_each(folder);
}

}  // namespace plumbline
