// plumbline's entry: gathers what commands need to know of the terminal and hands the command line
// to its table.

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string_view>
#include <system_error>

#include "cli/commands.h"

namespace {

// The user's own word in COLUMNS comes first, also where the output goes into a pipe or a file.
// Below kNarrowest nothing can be laid out any more, so that such a value is taken for none.
int terminal_width(int fd) {
  constexpr int kNarrowest = 40, kWidest = 10'000;
  if (const char* text = std::getenv("COLUMNS"); text != nullptr) {
    const std::string_view word = text;
    int columns = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), columns);
    const bool whole = error == std::errc() && end == word.data() + word.size();
    if (whole && columns >= kNarrowest && columns <= kWidest) return columns;
  }
  winsize size{};
  if (isatty(fd) == 0 || ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

// A pipe whose other end is closed: that is its reader's wish.
bool reader_has_gone(int fd) {
  pollfd item{fd, POLLOUT, 0};
  return poll(&item, 1, 0) > 0 && (item.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

}  // namespace

int main(int argc, char** argv) {
  // A reader of our output that goes away (`| head`) must not kill a run; writes then fail quietly.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<plumbline::CommandRow> commands = plumbline::command_table();
  plumbline::Context context;
  context.argv.assign(argv, argv + argc);
  context.commands = &commands;
  context.out = &std::cout;
  context.err = &std::cerr;
  context.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  context.err_is_terminal = isatty(STDERR_FILENO) != 0;
  context.width = terminal_width(STDOUT_FILENO);
  try {
    const int status = plumbline::dispatch(commands, context);
    if (std::cout.flush() || reader_has_gone(STDOUT_FILENO)) return status;
    std::cerr << "plumbline: not all of the output could be written; is the disk full?\n";
    return status == 0 ? 1 : status;
  } catch (const std::exception& error) {
    std::cerr << "plumbline: internal error: " << error.what()
              << "; please report it with the command line that you used\n";
    return 1;
  }
}
