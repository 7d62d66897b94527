// A program's standard input on its way to the guard that runs it: frames of bytes on the
// connection that also says that the asker is still there. An empty line says only that; "d N" is
// followed by N bytes of input; "e" is its end. Pure.
#pragma once

#include <string>
#include <string_view>

namespace plumbline {

inline constexpr size_t kMostFrameBytes = 1 << 20;

std::string input_frame(std::string_view bytes);  // at most kMostFrameBytes
std::string end_of_input_frame();

class InputFrames {
 public:
  // What arrived. false: it is no frame, and nothing more is taken.
  bool feed(std::string_view bytes);
  // The input so far that nobody has taken; take from the front with erase().
  std::string& input() { return input_; }
  const std::string& input() const { return input_; }
  bool ended() const { return ended_; }

 private:
  bool take_line();
  std::string line_, input_;
  size_t rest_ = 0;  // bytes of the frame that are still to come
  bool ended_ = false, nonsense_ = false;
};

}  // namespace plumbline
