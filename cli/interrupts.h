// Ctrl-C, counted: the first asks the run to end in order, the second to end now. Signal handlers
// cannot be handed a context, so the count is this program's one piece of global state.
// Thread-safe.
#pragma once

namespace plumbline {

// Counts SIGINT and SIGTERM from now on instead of dying from them.
void watch_interrupts();
int interrupts();

// For a process that serves another one which has gone: what still runs has a moment to end, then
// SIGALRM ends it.
void end_soon();

}  // namespace plumbline
