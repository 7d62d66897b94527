// `plumbline lab matrix`, apart from the other lab commands because it is long.
#pragma once

#include "cli/args.h"

namespace plumbline {

int lab_matrix_command(const Args& args, Context& context);

}  // namespace plumbline
