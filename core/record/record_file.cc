#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"
#include "core/line_reader.h"
#include "core/record/record.h"
#include "core/record/record_json.h"

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

// The hash of the last environment that the file tells; empty where there is none.
Expected<std::string> last_environment(const std::string& path) {
  Expected<LineReader> reader = LineReader::open(path, kLongestRecord);
  if (!reader) return fail(reader.error());
  std::string hash;
  for (TextLine line;;) {
    const Expected<bool> more = reader->next(line);
    if (!more) return fail(more.error());
    if (!*more) return hash;
    if (!line.text.starts_with(kEnvironmentStart)) continue;
    const auto read = nlohmann::json::parse(line.text, nullptr, false);
    const auto found = read.is_object() ? read.find("hash") : read.end();
    hash = found != read.end() && found->is_string() ? found->get<std::string>() : "";
  }
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
  if (*end == 0) return file;
  Expected<std::string> environment = last_environment(path);
  if (!environment) return fail(environment.error());
  file.lines_ = RecordLines(std::move(*environment));
  return file;
}

Status RecordFile::append(const Record& record) {
  const RecordLines::Lines lines = lines_.of(record);
  // On the disk before a record refers to it.
  const Status told = lines.environment.empty() ? Status() : append_line(lines.environment);
  return told ? append_line(lines.record) : told;
}

Status RecordFile::append_line(const std::string& line) {
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
