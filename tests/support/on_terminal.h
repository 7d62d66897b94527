// Runs a program on a terminal of its own (a pty), so that tests can type, change the size of the
// window and see what is written. Linux only.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "core/clock.h"

namespace plumbline {

// A program on a terminal of its own.
class OnTerminal {
 public:
  OnTerminal(const std::vector<std::string>& argv, int width,
             const std::vector<std::string>& environment, int height = 24) {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(width);
    size.ws_row = static_cast<unsigned short>(height);
    pid_ = forkpty(&fd_, nullptr, nullptr, &size);
    if (pid_ != 0) return;
    for (const std::string& entry : environment) putenv(const_cast<char*>(entry.c_str()));
    unsetenv("COLUMNS");
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;
  ~OnTerminal() {
    if (!ended_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(fd_);
  }
  // Reads until `wanted` is there; "" = until the program has ended.
  bool read_until(const std::string& wanted, int timeout_ms = 60'000) {
    const auto seen = [&wanted](const std::string& text) {
      return !wanted.empty() && text.find(wanted) != std::string::npos;
    };
    return read_until(seen, timeout_ms) || (wanted.empty() && at_end_);
  }
  // Reads until what was read so far satisfies `seen`, or the program has ended.
  bool read_until(const std::function<bool(const std::string&)>& seen, int timeout_ms = 60'000) {
    const Deadline deadline = Deadline::after_ms(timeout_ms);
    while (!deadline.passed()) {
      if (seen(text_)) return true;
      pollfd item{fd_, POLLIN, 0};
      if (poll(&item, 1, 100) <= 0) continue;
      char buffer[4096];
      const ssize_t n = read(fd_, buffer, sizeof buffer);
      at_end_ = n <= 0;  // EIO: nobody holds the other end any more
      if (at_end_) return false;
      text_.append(buffer, static_cast<size_t>(n));
    }
    return false;
  }
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    ended_ = true;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  void type(const std::string& keys) const {
    EXPECT_EQ(write(fd_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void resize(int width, int height = 24) const {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(width);
    size.ws_row = static_cast<unsigned short>(height);
    ioctl(fd_, TIOCSWINSZ, &size);
  }
  const std::string& text() const { return text_; }
  void forget() { text_.clear(); }
  pid_t pid() const { return pid_; }
  // How the terminal treats what is typed, as the program has left it.
  termios settings() const {
    termios out{};
    EXPECT_EQ(tcgetattr(fd_, &out), 0);
    return out;
  }

 private:
  int fd_ = -1;
  pid_t pid_ = -1;
  bool ended_ = false;
  bool at_end_ = false;
  std::string text_;
};

}  // namespace plumbline
