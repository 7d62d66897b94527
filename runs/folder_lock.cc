#include "runs/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "core/clock.h"
#include "core/number.h"

namespace plumbline {
namespace {

constexpr int kTries = 20;  // each needs another run to end in the same moment

Expected<Fd> open_lock(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!file.valid()) {
    return fail_errno(ErrorCode::kConfig, "open the lock " + path, errno,
                      "choose a writable place");
  }
  struct stat info {};
  if (fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode)) return file;
  return fail(ErrorCode::kConfig, path + " is no regular file, so that it cannot be a lock",
              "remove it, or write to another place");
}

// Somebody may have removed it between our opening and our locking: then it locks nothing.
bool is_still_there(const Fd& file, const std::string& path) {
  struct stat ours {
  }, there{};
  return fstat(file.get(), &ours) == 0 && lstat(path.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

// "PID since TIME" of the file, where it can be believed: two words of digits and of RFC 3339.
std::string holder(const Fd& file) {
  std::array<char, 64> text{};
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  const std::string_view all(text.data(), got > 0 ? static_cast<size_t>(got) : 0);
  const size_t space = std::min(all.find_first_not_of("0123456789"), all.size());
  const std::optional<int64_t> pid = parse_whole(all.substr(0, space), int64_t{1}, INT64_MAX);
  if (!pid) return "another process";
  const std::string_view time = all.substr(space, all.find('\n') - space);
  const bool told = time.size() > 1 && time.front() == ' ' &&
                    time.find_first_not_of("0123456789-:.TZ", 1) == time.npos;
  return told ? fmt::format("process {}, since{}", *pid, time) : fmt::format("process {}", *pid);
}

// Of no consequence where it cannot be written: the lock holds all the same.
void sign(const Fd& file) {
  const std::string text = fmt::format("{} {}\n", getpid(), utc_now_rfc3339());
  if (ftruncate(file.get(), 0) != 0) return;
  static_cast<void>(!pwrite(file.get(), text.data(), text.size(), 0));
}

}  // namespace

FileLock::~FileLock() {
  // While it is still ours.
  if (file_.valid()) unlink(path_.c_str());
}

Expected<FileLock> FileLock::take(const std::string& path, const std::string& what) {
  for (int i = 0; i < kTries; ++i) {
    Expected<Fd> file = open_lock(path);
    if (!file) return fail(file.error());
    if (flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return fail_errno(ErrorCode::kConfig, "lock " + path, errno);
      return fail(
          ErrorCode::kBusy,
          fmt::format("{} is written by another run: {} holds {}", what, holder(*file), path),
          "wait until it ends, end it (plumbline stop --list), or write to another place");
    }
    if (!is_still_there(*file, path)) continue;
    sign(*file);
    FileLock lock;
    lock.file_ = std::move(*file);
    lock.path_ = path;
    return lock;
  }
  return fail(ErrorCode::kBusy, "lock " + path + ": others take and leave it all the time",
              "write to another place");
}

}  // namespace plumbline
