#include "probes/actions/ping_program.h"

namespace plumbline {

void add_source_option(std::vector<std::string>& argv, const PairEnds& ends) {
  argv.emplace_back("-S");
  argv.push_back(ip_text(ends.from));
}

}  // namespace plumbline
