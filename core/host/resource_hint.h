// What to do when the system refuses a process, a thread, memory or a descriptor. Thread-safe.
#pragma once

#include <string>

namespace plumbline {

// By the errno of the refusal (EAGAIN, ENOMEM, EMFILE): which limit may be behind it, what it is
// now and what raises it. Empty for any other errno.
std::string resource_hint(int err);

}  // namespace plumbline
