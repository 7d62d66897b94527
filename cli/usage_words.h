// What is wrong with a command line, in words of ours. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace plumbline {

std::string usage_words(const CLI::ParseError& error);

}  // namespace plumbline
