// `plumbline help [COMMAND]`: the same as --help.

#include <algorithm>

#include "cli/commands.h"

namespace plumbline {

int run_help(const Args& args, Context& context) {
  Context asked = context;
  asked.argv = {context.argv.front()};
  bool known = true;
  if (args.has("command")) {
    const std::string name = args.get("command");
    known = std::any_of(context.commands->begin(), context.commands->end(),
                        [&name](const CommandRow& row) { return name == row.name; });
    asked.argv.push_back(name);
  }
  if (known) asked.argv.emplace_back("--help");  // else it is refused with the nearest name
  return dispatch(*context.commands, asked);
}

}  // namespace plumbline
