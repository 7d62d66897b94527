// The lines of a file or of the standard input, one at a time, in memory that is bounded by
// the longest line that is wanted: what is longer is counted and thrown away while it is read. One
// thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/fd.h"

namespace plumbline {

struct TextLine {
  std::string_view text;  // without its newline; good until the next call
  size_t number = 0;      // from 1 on
  size_t bytes = 0;       // == text.size(), but of a line that was too long: then text is empty
  bool ended = true;      // false: the file ended without a newline here
  bool too_long = false;
};

class LineReader {
 public:
  // "-" is the standard input. `longest` in bytes. `start`: what somebody has read of it already,
  // to find out what it is; the lines begin there.
  static Expected<LineReader> open(const std::string& path, size_t longest,
                                   std::string_view start = {});

  // False at the end of the file.
  Expected<bool> next(TextLine& line);

 private:
  Expected<bool> fill();  // reads more; false at the end

  Fd own_;
  int fd_ = -1;
  std::string path_;
  size_t longest_ = 0;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // what is in the buffer and not given out yet
  size_t number_ = 0;
  bool at_end_ = false;
};

}  // namespace plumbline
