// What a message about a wrong name says beside it, and how text of unknown origin is shown in it.
// Pure, thread-safe.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

// "did you mean 'x'?" when one is near, else "one of: a, b, c" (the first 20).
std::string hint_for(const std::string& name, const std::vector<std::string>& valid);
// Text of unknown origin, quoted, on one line, cut to a readable length.
std::string in_quotes(const std::string& text);

}  // namespace plumbline
