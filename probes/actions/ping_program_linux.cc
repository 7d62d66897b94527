#include <algorithm>

#include "probes/actions/ping_program.h"

namespace plumbline {

void add_source_option(std::vector<std::string>& argv, const PairEnds& ends) {
  argv.emplace_back("-I");
  const bool scoped = ends.from.family() == AF_INET6 && ends.from.link_local();
  argv.push_back(scoped ? ends.interface : ip_text(ends.from));
}

// Without it iputils waits 10 s for answers that do not come. Whole seconds are what every version
// understands.
void add_linger_option(std::vector<std::string>& argv, bool /*v6*/, int64_t ms) {
  argv.emplace_back("-W");
  argv.push_back(std::to_string(std::max<int64_t>(1, (ms + 999) / 1000)));
}

}  // namespace plumbline
