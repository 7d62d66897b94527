#include "launch/input_frames.h"

#include <algorithm>

#include "core/number.h"

namespace plumbline {
namespace {

constexpr size_t kLongestCount = 16;

}  // namespace

std::string input_frame(std::string_view bytes) {
  return "d " + std::to_string(bytes.size()) + "\n" + std::string(bytes);
}

std::string end_of_input_frame() { return "e\n"; }

bool InputFrames::feed(std::string_view bytes) {
  while (!bytes.empty() && !nonsense_) {
    if (rest_ > 0) {
      const size_t part = std::min(rest_, bytes.size());
      if (!ended_) input_.append(bytes.substr(0, part));
      rest_ -= part;
      bytes.remove_prefix(part);
      continue;
    }
    const char c = bytes.front();
    bytes.remove_prefix(1);
    if (c != '\n') {
      line_ += c;
      nonsense_ = line_.size() > kLongestCount;
    } else {
      nonsense_ = !take_line();
      line_.clear();
    }
  }
  return !nonsense_;
}

bool InputFrames::take_line() {
  if (line_.empty()) return true;
  if (line_ == "e") {
    ended_ = true;
    return true;
  }
  if (line_.rfind("d ", 0) != 0) return false;
  const auto bytes = parse_whole<size_t>(std::string_view(line_).substr(2), 0, kMostFrameBytes);
  rest_ = bytes.value_or(0);
  return bytes.has_value();
}

}  // namespace plumbline
