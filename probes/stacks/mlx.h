// What MLX's backends have in common. Pure functions.
#pragma once

#include "probes/stacks/stack.h"

namespace plumbline {

// The silent world of one rank, and what is disputed about MLX_METAL_FAST_SYNCH.
void plan_mlx_common(const StackQuestion& question, StackPlan& plan);

}  // namespace plumbline
