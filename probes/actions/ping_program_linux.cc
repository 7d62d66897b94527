#include "probes/actions/ping_program.h"

namespace plumbline {

void add_source_option(std::vector<std::string>& argv, const PairEnds& ends) {
  argv.emplace_back("-I");
  const bool scoped = ends.from.family() == AF_INET6 && ends.from.link_local();
  argv.push_back(scoped ? ends.interface : ip_text(ends.from));
}

}  // namespace plumbline
