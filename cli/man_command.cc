// The hidden command `man`: prints the manual page, for the installation.

#include "cli/commands.h"
#include "cli/manual.h"

namespace plumbline {

int run_man(const Args&, Context& context) {
  *context.out << manual_page();
  return 0;
}

}  // namespace plumbline
