// What is wrong with a command line, in words of ours. Pure.
#pragma once

#include <string>

namespace plumbline {

// Of the parser's error: its exit code and its text.
std::string usage_words(int kind, const std::string& text);

}  // namespace plumbline
