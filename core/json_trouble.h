// What is wrong with a text that should have been JSON, for people: on one line, in printable
// ASCII, never long, and without the piece of the text that the library quotes, which may be
// anything of any length.
#pragma once

#include <exception>
#include <string>

namespace plumbline {

std::string json_trouble(const std::exception& error);

}  // namespace plumbline
