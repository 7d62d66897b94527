// What a process says when it ends because the system gave it no memory, no thread or no process:
// what was tried, what the system answered and what to do, and never less than that.
#pragma once

#include <exception>
#include <string>

namespace plumbline {

// One line. `command` is what was run, for instance "plumbline run".
std::string words_for(const std::exception& error, const std::string& command);
// From here on a thread that ends with an exception ends the process with those words and exit code
// 1, where it would have been killed by the C++ library (SIGABRT).
void say_last_words();

}  // namespace plumbline
