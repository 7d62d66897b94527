#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/record/record.h"

namespace plumbline {
namespace {

// Length of the file up to and including its last newline; 0 when there is none.
Expected<off_t> whole_lines(int fd, const std::string& path) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return fail_errno(ErrorCode::kSystem, "stat " + path, errno);
  off_t end = info.st_size;
  char last = 0;
  while (end > 0) {
    const ssize_t got = pread(fd, &last, 1, end - 1);
    if (got != 1) return fail_errno(ErrorCode::kSystem, "read " + path, errno);
    if (last == '\n') break;
    --end;
  }
  return end;
}

}  // namespace

Expected<RecordFile> RecordFile::open(const std::string& path) {
  RecordFile file;
  file.path_ = path;
  file.fd_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file.fd_.valid()) {
    return fail_errno(ErrorCode::kConfig, "open record file " + path, errno,
                      "choose a writable folder with --out");
  }
  const Expected<off_t> end = whole_lines(file.fd_.get(), path);
  if (!end) return fail(end.error());
  if (ftruncate(file.fd_.get(), *end) != 0) {
    return fail_errno(ErrorCode::kSystem, "cut the torn last line off " + path, errno);
  }
  return file;
}

Status RecordFile::append(const Record& record) {
  const std::string line = to_line(record) + '\n';
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t n = ::write(fd_.get(), line.data() + written, line.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return fail_errno(ErrorCode::kSystem, "append to " + path_, errno, "free some space");
    written += static_cast<size_t>(n);
  }
  if (fsync(fd_.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    return fail_errno(ErrorCode::kSystem, "fsync " + path_, errno);
  }
  return {};
}

}  // namespace plumbline
