#include "cli/run_screen.h"

#include <unistd.h>

#include "cli/terminal.h"

namespace plumbline {

RunScreen::RunScreen(Context& context, bool quiet)
    : quiet_(quiet),
      probing_(*context.err, context.err_is_terminal && !quiet, context.width),
      cells_(
          *context.err, context.err_is_terminal, [] { return terminal_width(STDERR_FILENO); },
          context.colour) {}

void RunScreen::say(const std::string& line) {
  probing_.clear();
  cells_.line(line);
}

void RunScreen::progress(const RunProgress& state) {
  if (!state.probing.empty()) return probing_.show(state.probing);
  if (state.ranks != nullptr) return;
  probing_.clear();
  if (state.over) {
    cells_.finish();
  } else if (!quiet_) {
    cells_.show(state);
  }
}

}  // namespace plumbline
