#include <algorithm>

#include "probes/actions/ping_program.h"

namespace plumbline {

void add_source_option(std::vector<std::string>& argv, const PairEnds& ends) {
  argv.emplace_back("-S");
  argv.push_back(ip_text(ends.from));
}

// ping(8) waits 10 s for answers that do not come, or this many milliseconds; ping6(8) has no such
// option.
void add_linger_option(std::vector<std::string>& argv, bool v6, int64_t ms) {
  if (v6) return;
  argv.emplace_back("-W");
  argv.push_back(std::to_string(std::max<int64_t>(1, ms)));
}

}  // namespace plumbline
