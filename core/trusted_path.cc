#include "core/trusted_path.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
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

Expected<std::string> target_of(const std::string& link) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  if (length < 0) return fail_errno(ErrorCode::kConfig, "read the link " + link, errno);
  return std::string(target.data(), static_cast<size_t>(length));
}

// Walks from / along `path` as the kernel would, and checks every folder that it comes through:
// also those in which links stand, on however many steps.
Status check_each(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  int links = 0;
  std::string here, rest = path;  // `here` is checked; "" is /
  if (const Status fine = check_folder("/"); !fine) return fine;
  while (!rest.empty()) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string part = rest.substr(0, slash);
    rest.erase(0, std::min(slash + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      here.erase(std::min(here.rfind('/'), here.size()));
      continue;
    }
    const std::string next = here + "/" + part;
    struct stat info {};
    if (lstat(next.c_str(), &info) != 0) {
      return fail_errno(ErrorCode::kConfig, "look at " + next, errno);
    }
    if (!S_ISLNK(info.st_mode)) {
      if (const Status fine = check_folder(next); !fine) return fine;
      here = next;
      continue;
    }
    const Expected<std::string> target = target_of(next);
    if (!target) return fail(target.error());
    if (++links > kMostLinks) return fail(ErrorCode::kConfig, path + ": too many links");
    if (target->rfind('/', 0) == 0) here.clear();
    rest = *target + "/" + rest;
  }
  return {};
}

Status check_trusted_file(const Fd& file, const std::string& path) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0)
    return fail_errno(ErrorCode::kConfig, "look at " + path, errno);
  if (!ours(info)) return fail(not_ours(path, info));
  if ((info.st_mode & kOthersWrite) == 0) return {};
  return fail(ErrorCode::kConfig,
              fmt::format("others may write to {} (mode {:o})", path, info.st_mode & kPermissions),
              "chmod go-w " + shell_word(path));
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

// The file when it passes the check, and nobody else can put another one in its place.
Expected<std::string> read_checked(const std::string& path, size_t most_bytes,
                                   Status (*check)(const Fd& file, const std::string& path)) {
  const Expected<Fd> file = open_input_file(path);
  if (!file) return fail(file.error());
  if (const Status fine = check(*file, path); !fine) return fail(fine.error());
  // A link to it stands in a folder of its own.
  std::string at = path;
  for (int links = 0;; ++links) {
    const size_t slash = at.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : at.substr(0, slash + 1);
    if (const Status safe = check_folders_above(folder); !safe) return fail(safe.error());
    struct stat info {};
    constexpr int kMostLinks = 40;
    const bool is_link = lstat(at.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
    if (!is_link || links == kMostLinks) break;
    const Expected<std::string> target = target_of(at);
    if (!target) return fail(target.error());
    at = target->rfind('/', 0) == 0 ? *target : folder + "/" + *target;
  }
  return read_whole(*file, path, most_bytes);
}

}  // namespace

Expected<std::string> read_secret_file(const std::string& path, size_t most_bytes) {
  return read_checked(path, most_bytes, check_secret_file);
}

Expected<std::string> read_trusted_file(const std::string& path, size_t most_bytes) {
  return read_checked(path, most_bytes, check_trusted_file);
}

Status check_folders_above(const std::string& folder) {
  if (folder.rfind('/', 0) == 0) return check_each(folder);
  const std::unique_ptr<char, void (*)(void*)> here(getcwd(nullptr, 0), std::free);
  if (here == nullptr) return fail_errno(ErrorCode::kConfig, "look at the current folder", errno);
  return check_each(std::string(here.get()) + "/" + folder);
}

}  // namespace plumbline
