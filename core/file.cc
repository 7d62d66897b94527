#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "core/encode.h"
#include "core/shell_words.h"

namespace plumbline {
namespace {

const char* file_kind(const struct stat& info) {
  if (S_ISFIFO(info.st_mode)) return "a pipe";
  if (S_ISSOCK(info.st_mode)) return "a socket";
  return "a device";
}

Error no_file(const std::string& path, const struct stat& info) {
  if (S_ISDIR(info.st_mode)) {
    return Error{ErrorCode::kConfig, path + " is a folder", EISDIR, "name a file in it", ""};
  }
  return Error{ErrorCode::kConfig,
               fmt::format("{} is {}, and only regular files are read", path, file_kind(info)), 0,
               "write what it gives into a file, and name that; where - stands for the standard "
               "input, redirect it there",
               ""};
}

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

// What a file must be that nobody else may change, and, where it is secret, nobody else may read.
Status check_file(const Fd& file, const std::string& path, bool secret) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0)
    return fail_errno(ErrorCode::kConfig, "look at " + path, errno);
  if (!ours(info)) return fail(not_ours(path, info));
  const bool writable = (info.st_mode & kOthersWrite) != 0;
  if (!writable && (!secret || (info.st_mode & kOthers) == 0)) return {};
  return fail(ErrorCode::kConfig,
              fmt::format("others may {} {} (mode {:o}){}", writable ? "write to" : "read", path,
                          info.st_mode & kPermissions, secret ? ", so that it is no secret" : ""),
              (secret ? "chmod 600 " : "chmod go-w ") + shell_word(path));
}

// The file when it passes the check, and nobody else can put another one in its place.
Expected<std::string> read_checked(const std::string& path, size_t most_bytes, bool secret) {
  const Expected<Fd> file = open_input_file(path);
  if (!file) return fail(file.error());
  if (const Status fine = check_file(*file, path, secret); !fine) return fail(fine.error());
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

constexpr size_t kLongest = 100;    // bytes that stay of a name; file systems take 255
constexpr size_t kHashDigits = 16;  // as many as nobody meets by chance

bool stays_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool is_small_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// What file_word() puts behind a name, so that no plain name can stand for another one's file.
bool ends_like_ours(std::string_view name) {
  if (name.size() < kHashDigits + 1) return false;
  const std::string_view tail = name.substr(name.size() - kHashDigits - 1);
  return tail[0] == '-' && std::all_of(tail.begin() + 1, tail.end(), is_small_hex);
}

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::filesystem::path system_place() {
  std::error_code ignored;
  return std::filesystem::temp_directory_path(ignored);
}

}  // namespace

Expected<Fd> open_input_file(const std::string& path) {
  struct stat info {};
  // Before it is opened, because opening alone can start something; and behind it, because what
  // lies there may have changed meanwhile.
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return fail(no_file(path, info));
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return fail_errno(ErrorCode::kConfig, "open " + path, errno);
  if (fstat(fd.get(), &info) != 0) return fail_errno(ErrorCode::kConfig, "stat " + path, errno);
  if (!S_ISREG(info.st_mode)) return fail(no_file(path, info));
  return fd;
}

Expected<std::string> read_whole(const Fd& file, const std::string& path, size_t most_bytes) {
  struct stat info {};
  const bool told = fstat(file.get(), &info) == 0 && info.st_size >= 0;
  std::string text;
  std::vector<char> block(64 * 1024);
  bool too_large = told && static_cast<uintmax_t>(info.st_size) > most_bytes;
  while (!too_large) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(ErrorCode::kConfig, "read " + path, errno);
    if (got == 0) return text;
    text.append(block.data(), static_cast<size_t>(got));
    too_large = text.size() > most_bytes;  // it grows, or /proc did not say
  }
  return fail(ErrorCode::kConfig,
              most_bytes >= size_t{1} << 20
                  ? fmt::format("{} is larger than {} MiB", path, most_bytes >> 20)
                  : fmt::format("{} is larger than {} bytes", path, most_bytes),
              "is this the right file?");
}

Expected<std::string> read_input_file(const std::string& path, size_t most_bytes) {
  const Expected<Fd> file = open_input_file(path);
  if (!file) return fail(file.error());
  return read_whole(*file, path, most_bytes);
}

// Agents read dozens of these a second: no stat before, and no block on the heap.
std::string read_system_file(const std::string& path) {
  constexpr size_t kMostBytes = size_t{8} << 20;
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::string text;
  std::array<char, size_t{16} << 10> block;  // NOLINT(*-member-init): read() fills it
  while (file.valid()) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return text;
    if (got < 0 || text.size() > kMostBytes) break;
    text.append(block.data(), static_cast<size_t>(got));
  }
  return {};
}

Status write_whole(const Fd& file, std::string_view text, const std::string& what,
                   std::string hint) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(file.get(), text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail_errno(ErrorCode::kSystem, what, errno, std::move(hint));
    text.remove_prefix(static_cast<size_t>(wrote));
  }
  return {};
}

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

Expected<std::string> read_secret_file(const std::string& path, size_t most_bytes) {
  return read_checked(path, most_bytes, true);
}

Expected<std::string> read_trusted_file(const std::string& path, size_t most_bytes) {
  return read_checked(path, most_bytes, false);
}

Status check_folders_above(const std::string& folder) {
  if (folder.rfind('/', 0) == 0) return check_each(folder);
  const std::unique_ptr<char, void (*)(void*)> here(getcwd(nullptr, 0), std::free);
  if (here == nullptr) return fail_errno(ErrorCode::kConfig, "look at the current folder", errno);
  return check_each(std::string(here.get()) + "/" + folder);
}

std::string file_word(std::string_view name) {
  const bool plain = !name.empty() && name.size() <= kLongest && name[0] != '.' &&
                     std::all_of(name.begin(), name.end(), stays_in_name) && !ends_like_ours(name);
  if (plain) return std::string(name);
  std::string out;
  for (const char c : name.substr(0, kLongest)) {
    const bool keeps = stays_in_name(small(c)) && !(c == '.' && out.empty());
    out += keeps ? c : '_';
  }
  const Digest digest = sha256(name);
  return out + "-" + to_hex(std::span(digest).first(kHashDigits / 2));
}

std::string FileNames::take(const std::string& word) {
  std::string name = word;
  const auto folded = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), small);
    return text;
  };
  for (size_t i = 2; !taken_.insert(folded(name)).second; ++i) {
    name = word + "_" + std::to_string(i);
  }
  return name;
}

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
