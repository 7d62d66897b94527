// Before the ladder runs for a stack: asks the hosts what they are and which version of the stack
// they have, has the model make its plan, and makes the plan the job. One thread at a time.
#pragma once

#include "probes/probe.h"
#include "probes/stacks/stack.h"

namespace plumbline {

// Fills context.evidence.stack and replaces context.evidence.job; what hosts said stays until they
// are asked again. `question.evidence` is set here. Never longer than the context's deadline.
void plan_for_hosts(ProbeContext& context, const StackRow& row, StackQuestion question);

// Asks the hosts which version of the plan's stack is installed, and remarks on those that the
// model was not read from.
void ask_installed(ProbeContext& context, StackPlan& plan);

// A stack that gives its peers several addresses opens a connection on each, and waits for all of
// them: adds a trap for each further network of which nothing comes back. `chosen_too`: also for
// the first of them, where no ladder runs on it.
void try_given_addresses(ProbeContext& context, StackPlan& plan, bool chosen_too);

}  // namespace plumbline
