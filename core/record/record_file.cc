#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "core/file.h"
#include "core/json.h"
#include "core/line_reader.h"
#include "core/record/record.h"
#include "core/record/record_parser.h"

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

// The warnings of one file: the first ones in words, the rest as a number.
class FileWarnings {
 public:
  FileWarnings(std::string name, std::vector<std::string>* out)
      : name_(std::move(name)), out_(out) {}

  void add(size_t line, const std::string& text) {
    if (++count_ <= kMostWarnings) tell(fmt::format("{}:{}: {}", name_, line, text));
  }

  void finish() {
    if (count_ > kMostWarnings) {
      tell(fmt::format("{}: and {} more warnings like these", name_, count_ - kMostWarnings));
    }
  }

 private:
  void tell(std::string text) {
    if (out_ != nullptr) out_->push_back(std::move(text));
  }

  std::string name_;
  std::vector<std::string>* out_;
  size_t count_ = 0;
};

class FileRead {
 public:
  FileRead(const std::string& path, std::vector<std::string>* warnings,
           const std::function<void(const Record&)>& take, Damage damage, std::string_view start)
      : path_(path),
        start_(start),
        name_(path == "-" ? "standard input" : path),
        warnings_(name_, warnings),
        take_(take),
        strict_(damage == Damage::kRefuse),
        parser_(!strict_, strict_) {}

  Status run() {
    Expected<LineReader> reader = LineReader::open(path_, kLongestRecord, start_);
    if (!reader) {
      Error error = reader.error();
      error.hint = "give the records.jsonl that a run wrote";
      return fail(std::move(error));
    }
    TextLine line;
    for (;;) {
      const Expected<bool> more = reader->next(line);
      if (!more) return fail(more.error());
      if (!*more) break;
      if (const Status taken = take(line); !taken) return taken;
    }
    warnings_.finish();
    if (records_ == 0 && !strict_) {
      return fail(ErrorCode::kConfig, name_ + " holds no record" + first_problem_,
                  "give the records.jsonl that a run wrote");
    }
    return {};
  }

 private:
  Status take(const TextLine& line) {
    const std::string_view text = content(line);
    if (text.empty() && line.text.find('\0') != line.text.npos) {
      return damaged(line.number, "nothing but NUL bytes (the disk lost what had been written)");
    }
    if (text.empty() && !line.too_long) return {};
    if (line.too_long) {
      return damaged(line.number, fmt::format("a line of {} bytes is longer than any record ({})",
                                              line.bytes, kLongestRecord));
    }
    if (!line.ended && strict_) return torn(line.number);
    notes_.clear();
    const Expected<const Record*> record = parser_.parse(text, &notes_);
    if (!record && parser_.lacks_environment())
      return lacks_environment(line.number, record.error());
    if (!record) {
      if (!line.ended) return torn(line.number);
      return damaged(line.number, record.error().what, record.error().hint);
    }
    for (const std::string& note : notes_) warnings_.add(line.number, note);
    if (*record == nullptr) return {};  // the environment of those below
    ++records_;
    if ((*record)->schema > kRecordSchema && !std::exchange(newer_seen_, true)) {
      warnings_.add(line.number,
                    fmt::format("records of schema {} were written by a newer version; what this "
                                "one (schema {}) understands of them is read",
                                (*record)->schema, kRecordSchema));
    }
    take_(**record);
    return {};
  }

  // Without what other systems leave around a line: a byte order mark, the CR of CRLF, and the NUL
  // bytes of blocks that a file system had promised but never wrote.
  static std::string_view content(const TextLine& line) {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    std::string_view text = line.text;
    if (line.number == 1 && text.starts_with(kMark)) text.remove_prefix(kMark.size());
    const auto is_nothing = [](char c) { return c == '\0' || c == '\r' || c == ' ' || c == '\t'; };
    while (!text.empty() && is_nothing(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_nothing(text.back())) text.remove_suffix(1);
    return text;
  }

  Status torn(size_t number) {
    warnings_.add(number, "last line is torn (the writer was killed); ignored");
    return {};
  }

  // Numbers without what was measured would be taken for others.
  Status lacks_environment(size_t number, const Error& error) const {
    return fail(ErrorCode::kConfig,
                fmt::format("{}:{}: {}{}", name_, number, error.what, first_problem_),
                "give the file whole: the lines that begin with {\"environment\": belong to the "
                "records below them");
  }

  Status damaged(size_t number, const std::string& what, const std::string& hint = {}) {
    if (strict_) {
      return fail(ErrorCode::kConfig, fmt::format("{}:{}: {}", name_, number, what),
                  hint.empty() ? "take the line out if it cannot be mended; --resume then measures "
                                 "its cell again"
                               : hint);
    }
    if (first_problem_.empty()) first_problem_ = fmt::format("; line {}: {}", number, what);
    warnings_.add(number, what + "; left out");
    return {};
  }

  const std::string& path_;
  std::string_view start_;
  std::string name_;  // for messages
  FileWarnings warnings_;
  const std::function<void(const Record&)>& take_;
  bool strict_;
  RecordParser parser_;
  std::vector<std::string> notes_;
  bool newer_seen_ = false;
  std::string first_problem_;
  size_t records_ = 0;
};

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
  if (const Status wrote = write_whole(fd_, line, "append to " + path_, "free some space"); !wrote)
    return wrote;
  if (fsync(fd_.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    return fail_errno(ErrorCode::kSystem, "fsync " + path_, errno);
  }
  return {};
}

Status for_each_record(const std::string& path, std::vector<std::string>* warnings,
                       const std::function<void(const Record&)>& take, Damage damage) {
  return FileRead(path, warnings, take, damage, {}).run();
}

Status for_each_piped_record(std::string_view start, std::vector<std::string>* warnings,
                             const std::function<void(const Record&)>& take) {
  const std::string path = "-";
  return FileRead(path, warnings, take, Damage::kSkip, start).run();
}

Expected<std::vector<Record>> read_records(const std::string& path,
                                           std::vector<std::string>* warnings) {
  std::vector<Record> records;
  const Status read = for_each_record(
      path, warnings, [&](const Record& record) { records.push_back(record); }, Damage::kRefuse);
  if (!read) return fail(read.error());
  return records;
}

}  // namespace plumbline
