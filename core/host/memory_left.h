// How much memory this process may still take, so that whoever needs much of it can say no in
// words: the system itself says nothing, it ends processes. Thread-safe.
#pragma once

#include <cstdint>

namespace plumbline {

// Bytes: what the machine has available (without swapping) or, on Linux, what the control groups of
// this process leave of it. 0 = not known.
uint64_t memory_left();

}  // namespace plumbline
