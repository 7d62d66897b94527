// The text of --help on a terminal. Pure function, thread-safe.
#pragma once

#include <cstddef>
#include <string>

namespace plumbline {

// Lines of at most `width` columns (0 = as they are): a description that is too long goes on below
// its own beginning, or below the name that it describes where beside that there is no room.
std::string fold_help(const std::string& text, size_t width);

}  // namespace plumbline
