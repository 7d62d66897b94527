// `plumbline hosts discover`: asks hosts for their cables and makes a host file of what they say.
#pragma once

#include "cli/args.h"

namespace plumbline {

int discover_hosts(const Args& args, Context& context);

}  // namespace plumbline
