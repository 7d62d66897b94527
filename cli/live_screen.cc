#include "cli/live_screen.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <string_view>

#include "cli/safe_output.h"

namespace plumbline {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";

// Signals that end a process, but for those that plumbline counts (interrupts.h) or ignores.
constexpr std::array kEndingSignals = {SIGHUP, SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                                       SIGFPE, SIGSEGV, SIGXCPU, SIGSYS,  SIGUSR1, SIGUSR2};

// What has to be undone, for handlers: written before they are installed, and only read by them.
struct Undo {
  volatile std::sig_atomic_t entered = 0;  // the other screen is shown
  volatile std::sig_atomic_t resumed = 0;
  bool keys = false;  // standard input has been changed
  termios before{}, during{};
  std::array<struct sigaction, kEndingSignals.size()> endings{};
  struct sigaction stop {};
  std::terminate_handler terminate = nullptr;
};
Undo undo;

// Everything below here until the class may run in a handler: system calls only.

void put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody can be told
    text.remove_prefix(static_cast<size_t>(n));
  }
}

void enter() {
  if (undo.keys) ::tcsetattr(STDIN_FILENO, TCSANOW, &undo.during);
  put(kEnter);
  undo.entered = 1;
}

void leave() {
  if (undo.entered == 0) return;
  undo.entered = 0;
  put(kLeave);
  if (undo.keys) ::tcsetattr(STDIN_FILENO, TCSANOW, &undo.before);
}

// As it would have ended without us: the handler before us, or the system, is next.
void leave_and_end(int number) {
  leave();
  for (size_t i = 0; i < kEndingSignals.size(); ++i) {
    if (kEndingSignals[i] == number) ::sigaction(number, &undo.endings[i], nullptr);
  }
  ::raise(number);
}

// Ctrl-Z: the terminal as it was until the process goes on.
void leave_and_stop(int number) {
  const int error = errno;
  struct sigaction ours {};
  sigset_t only{}, blocked{};
  const bool entered = undo.entered != 0;
  sigemptyset(&only);
  sigaddset(&only, number);
  leave();
  ::sigaction(number, &undo.stop, &ours);
  ::raise(number);
  ::pthread_sigmask(SIG_UNBLOCK, &only, &blocked);  // stops here
  ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
  ::sigaction(number, &ours, nullptr);
  if (entered) enter();
  undo.resumed = 1;
  errno = error;
}

void catch_signals() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = leave_and_end;
  for (size_t i = 0; i < kEndingSignals.size(); ++i) {
    ::sigaction(kEndingSignals[i], &action, &undo.endings[i]);
    // Ignored by whoever started us (nohup): stays so.
    if (undo.endings[i].sa_handler == SIG_IGN) {
      ::sigaction(kEndingSignals[i], &undo.endings[i], nullptr);
    }
  }
  action.sa_handler = leave_and_stop;
  ::sigaction(SIGTSTP, &action, &undo.stop);
  if (undo.stop.sa_handler == SIG_IGN) ::sigaction(SIGTSTP, &undo.stop, nullptr);
  undo.terminate = std::set_terminate([] {
    leave();
    undo.terminate();
  });
}

void release_signals() {
  for (size_t i = 0; i < kEndingSignals.size(); ++i) {
    ::sigaction(kEndingSignals[i], &undo.endings[i], nullptr);
  }
  ::sigaction(SIGTSTP, &undo.stop, nullptr);
  std::set_terminate(undo.terminate);
}

}  // namespace

LiveScreen::LiveScreen(std::ostream& out) : out_(out) {
  out_.flush();
  undo.keys = ::isatty(STDIN_FILENO) != 0 && ::tcgetattr(STDIN_FILENO, &undo.before) == 0;
  undo.during = undo.before;
  // Ctrl-C and Ctrl-Z remain signals.
  undo.during.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  undo.during.c_cc[VMIN] = 0;
  undo.during.c_cc[VTIME] = 0;
  typed_on_ = undo.keys;
  catch_signals();
  enter();
}

LiveScreen::~LiveScreen() {
  out_.flush();
  leave();
  release_signals();
}

bool LiveScreen::resumed() {
  const bool was = undo.resumed != 0;
  undo.resumed = 0;
  return was;
}

void LiveScreen::show(const std::vector<std::string>& lines, bool room_below) {
  const auto control = [this](std::string_view text) {
    const RawOutput raw(out_);
    out_ << text;
  };
  control("\x1b[H");
  for (size_t i = 0; i < lines.size(); ++i) {
    // Before the text: behind a full line it would erase the last character.
    out_ << (i == 0 ? "" : "\r\n") << "\x1b[K" << lines[i];
  }
  if (room_below) control("\r\n\x1b[J");
  out_.flush();
  gone_ = gone_ || !out_;
}

std::string LiveScreen::keys(int timeout_ms) {
  pollfd item{STDIN_FILENO, POLLIN, 0};
  const int ready = ::poll(&item, typed_on_ ? 1 : 0, timeout_ms);
  if (ready <= 0) return {};
  if ((item.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) gone_ = true;
  std::array<char, 64> bytes{};
  const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (n < 0 && errno != EINTR && errno != EAGAIN) gone_ = true;
  return n > 0 ? std::string(bytes.data(), static_cast<size_t>(n)) : std::string();
}

}  // namespace plumbline
