// What this program prints, with nothing in it that could steer the terminal of whoever reads it:
// the last line of defence behind the reports, which clean what they are given. Text of UTF-8
// passes with its newlines and tabs. Other control characters (core/text.h) come out as
// \u001b, which in JSON is the same character. Not thread-safe, as std::ostream is not. And the
// streams that it goes to, as a program may expect them: open. Whoever starts us may have closed
// them (a daemon, `>&-`); the next file or socket would then be number 1, and a report would be
// written into it.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace plumbline {

class SafeOutput : public std::streambuf {
 public:
  // Puts itself in the place of the stream's buffer until it is destroyed. On a terminal our own
  // colours and the overwriting of a line (\r, ESC[K) pass.
  SafeOutput(std::ostream& stream, bool terminal);
  ~SafeOutput() override;
  SafeOutput(const SafeOutput&) = delete;
  SafeOutput& operator=(const SafeOutput&) = delete;

 protected:
  int_type overflow(int_type byte) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  friend class RawOutput;
  bool put(std::string_view text);
  bool put_held();

  std::ostream& stream_;
  std::streambuf* inner_;
  const bool terminal_;
  bool raw_ = false;
  std::string held_;  // the begin of a character or sequence whose rest has not come yet
};

// Lets everything pass while it lives: for the output of programs that the user started. Does
// nothing where the stream has no SafeOutput.
class RawOutput {
 public:
  explicit RawOutput(std::ostream& stream);
  ~RawOutput();
  RawOutput(const RawOutput&) = delete;
  RawOutput& operator=(const RawOutput&) = delete;

 private:
  SafeOutput* output_;
};

// Called before anything else is opened. A closed standard input becomes an empty one, a closed
// standard error takes everything and keeps nothing, and a closed standard output refuses what is
// written to it (EBADF), so that it is not taken for done. False when even that is not possible.
bool open_standard_streams();

// Why nothing can be written to standard output, for an error; empty when it takes it.
std::string output_trouble();

}  // namespace plumbline
