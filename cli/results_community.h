// RESULTS.md: written from the folder of bundles, or compared with it.
#pragma once

#include "cli/args.h"

namespace plumbline {

int results_update(const Args& args, Context& context);
int results_check(const Args& args, Context& context);

}  // namespace plumbline
