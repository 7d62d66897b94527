// What is wrong with a command line, in words of ours. Pure.
#pragma once

#include <string>

namespace CLI {
class ParseError;
}  // namespace CLI

namespace plumbline {

std::string usage_words(const CLI::ParseError& error);

}  // namespace plumbline
