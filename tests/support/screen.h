// What somebody sees on a terminal after a text was written to it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace plumbline {

// A terminal of one kind: it knows \r, \n, "erase to the end of the line" and colours.
class Screen {
 public:
  explicit Screen(size_t width) : width_(width) {}

  void take(const std::string& text) {
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '\r') {
        column_ = 0;
      } else if (c == '\n') {
        lines_.emplace_back();
        column_ = 0;
      } else if (c == '\033') {
        const size_t end = text.find_first_of("mK", i);
        ASSERT_NE(end, std::string::npos);
        if (text[end] == 'K') {
          lines_.back().resize(std::min(column_, lines_.back().size()));
        } else {
          ++colours_;
        }
        i = end;
      } else {
        put(c);
      }
    }
  }
  const std::vector<std::string>& lines() const { return lines_; }
  size_t colours() const { return colours_; }
  bool wrapped() const { return wrapped_; }

 private:
  void put(char c) {
    if (column_ >= width_) {
      wrapped_ = true;
      lines_.emplace_back();
      column_ = 0;
    }
    std::string& line = lines_.back();
    if (line.size() <= column_) line.resize(column_ + 1, ' ');
    line[column_++] = c;
  }

  size_t width_;
  std::vector<std::string> lines_{""};
  size_t column_ = 0, colours_ = 0;
  bool wrapped_ = false;
};

}  // namespace plumbline
