#include "core/line_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/file.h"

namespace plumbline {
namespace {

constexpr size_t kStart = size_t{1} << 20;  // bytes of the buffer; grows with long lines

}  // namespace

Expected<LineReader> LineReader::open(const std::string& path, size_t longest,
                                      std::string_view start) {
  LineReader reader;
  reader.path_ = path == "-" ? "the standard input" : path;
  reader.longest_ = longest;
  reader.fd_ = STDIN_FILENO;
  if (path != "-") {
    Expected<Fd> file = open_input_file(path);
    if (!file) return fail(file.error());
    reader.own_ = std::move(*file);
    reader.fd_ = reader.own_.get();
  }
  reader.buffer_.resize(std::max(std::min(kStart, longest + 1), start.size()));
  std::copy(start.begin(), start.end(), reader.buffer_.begin());
  reader.end_ = start.size();
  return reader;
}

Expected<bool> LineReader::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    buffer_.resize(std::max(end_ + 1, std::min(2 * buffer_.size(), longest_ + 1)));
  }
  for (;;) {
    const ssize_t got = ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(ErrorCode::kConfig, "read " + path_, errno);
    end_ += static_cast<size_t>(got);
    at_end_ = got == 0;
    return got > 0;
  }
}

Expected<bool> LineReader::next(TextLine& line) {
  line = {};
  line.number = ++number_;
  size_t dropped = 0;
  size_t searched = 0;  // of what is in the buffer
  for (;;) {
    const char* from = buffer_.data() + begin_;
    const void* newline = std::memchr(from + searched, '\n', end_ - begin_ - searched);
    if (newline != nullptr || at_end_) {
      const size_t size =
          newline ? static_cast<size_t>(static_cast<const char*>(newline) - from) : end_ - begin_;
      line.ended = newline != nullptr;
      line.bytes = dropped + size;
      line.too_long = line.bytes > longest_;
      if (!line.too_long) line.text = {from, size};
      begin_ += size + (newline ? 1 : 0);
      return line.ended || line.bytes > 0;
    }
    searched = end_ - begin_;
    if (searched > longest_) {
      dropped += searched;
      begin_ = end_ = searched = 0;
    }
    const Expected<bool> more = fill();
    if (!more) return more;
  }
}

}  // namespace plumbline
