// The flags of `run` that say how often: in rounds, again and again, on two sides in turns.
#pragma once

#include <optional>

#include "cli/args.h"
#include "runs/run_request.h"

namespace plumbline {

// The flags --for, --every and --idle; nothing without --for. An Error for one that does not make
// sense, alone or with others (--resume).
Expected<std::optional<SoakPlan>> soak_flags(const Args& args);

// The flags --repeat, --interleave, --recheck and those of the comparison; nothing without the
// first two. An Error for one that does not make sense, alone or with others.
Expected<std::optional<Repeats>> repeat_flags(const Args& args);
Error no_repeat_under_launcher();

}  // namespace plumbline
