// plumbline's entry: gathers what commands need to know of the terminal and hands the command line
// to its table.

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>

#include "cli/commands.h"
#include "cli/last_words.h"
#include "cli/safe_output.h"
#include "cli/terminal.h"
#include "runs/exit_code.h"

namespace {

// A pipe whose other end is closed: that is its reader's wish.
bool reader_has_gone(int fd) {
  pollfd item{fd, POLLOUT, 0};
  return poll(&item, 1, 0) > 0 && (item.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (!plumbline::open_standard_streams()) return 1;  // there is nowhere to say why
  plumbline::say_last_words();
  // A reader of our output that goes away (`| head`) must not kill a run; writes then fail quietly.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // ulimit -f: a write that fails is told
  const std::vector<plumbline::CommandRow> commands = plumbline::command_table();
  plumbline::Context context;
  context.argv.assign(argv, argv + argc);
  context.commands = &commands;
  context.out = &std::cout;
  context.err = &std::cerr;
  context.out_is_terminal = plumbline::is_terminal(STDOUT_FILENO);
  context.err_is_terminal = plumbline::is_terminal(STDERR_FILENO);
  context.width = plumbline::terminal_width(STDOUT_FILENO);
  const auto choice = plumbline::take_colour_flag(context.argv);
  const bool wanted = plumbline::colour_wanted();
  context.colour =
      plumbline::coloured(choice.value_or(plumbline::ColourChoice::kAuto), true, wanted);
  context.out_colour = plumbline::coloured(choice.value_or(plumbline::ColourChoice::kAuto),
                                           context.out_is_terminal, wanted);
  const plumbline::SafeOutput safe_out(std::cout, context.out_is_terminal || context.out_colour);
  const plumbline::SafeOutput safe_err(std::cerr, context.err_is_terminal);
  if (!choice) return plumbline::usage_failure(context, choice.error());
  try {
    const int status = plumbline::dispatch(commands, context);
    if (std::cout.flush() || reader_has_gone(STDOUT_FILENO)) return status;
    std::cerr << "plumbline: not all of the output could be written; "
              << plumbline::output_trouble() << "\n";
    return plumbline::worse_exit_code(status, 1);
  } catch (const std::exception& error) {
    const std::string command = argc > 1 ? std::string("plumbline ") + argv[1] : "plumbline";
    std::cerr << "plumbline: " << plumbline::words_for(error, command) << "\n";
    return 1;
  }
}
