// The models, each in its file; the rows of stacks.cc name them. All fill the ranks of a plan whose
// places are known.
#pragma once

#include "probes/stacks/stack.h"

namespace plumbline {

using StackModel = void(const StackQuestion& question, StackPlan& plan);

StackModel plan_mccl, plan_mlx_jaccl, plan_mlx_ring, plan_mpich, plan_nccl, plan_openmpi,
    plan_torch_gloo;

// UCX over TCP (ucx.cc), for MPIs that are built on it: fills the rank's addresses and listeners.
void plan_ucx_rank(const StackQuestion& question, StackPlan& plan, size_t rank);

}  // namespace plumbline
