// `plumbline results list|show|prune`: the runs of this user on this machine (history.h).
#pragma once

#include "cli/args.h"

namespace plumbline {

int results_list(const Args& args, Context& context);
int results_show(const Args& args, Context& context);
int results_prune(const Args& args, Context& context);

}  // namespace plumbline
