// plumbline's entry: gathers what commands need to know of the terminal and hands the command line
// to its table.

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>

#include "cli/commands.h"

namespace {

int terminal_width(int fd) {
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
