#include "core/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace plumbline {
namespace {

const char* kind_of(const struct stat& info) {
  if (S_ISFIFO(info.st_mode)) return "a pipe";
  if (S_ISSOCK(info.st_mode)) return "a socket";
  return "a device";
}

Error no_file(const std::string& path, const struct stat& info) {
  if (S_ISDIR(info.st_mode)) {
    return Error{ErrorCode::kConfig, path + " is a folder", EISDIR, "name a file in it", ""};
  }
  return Error{ErrorCode::kConfig,
               fmt::format("{} is {}, and only regular files are read", path, kind_of(info)), 0,
               "write what it gives into a file, and name that; where - stands for the standard "
               "input, redirect it there",
               ""};
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

}  // namespace plumbline
