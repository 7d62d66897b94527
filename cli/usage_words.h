// What a command line gets to read where it asks for help or is wrong: the text of --help on a
// terminal, and the parser's errors in words of ours. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <string>

namespace plumbline {

// Of the parser's error: its exit code and its text.
std::string usage_words(int kind, const std::string& text);

// Lines of at most `width` columns (0 = as they are): a description that is too long goes on below
// its own beginning, or below the name that it describes where beside that there is no room.
std::string fold_help(const std::string& text, size_t width);

}  // namespace plumbline
