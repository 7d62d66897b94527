// What an exception says, in words of ours: on one line, in printable ASCII, never long, without
// the pieces of text that libraries quote, which may be anything of any length, and without the
// names by which a library calls its errors.
#pragma once

#include <exception>
#include <string>

namespace plumbline {

// A value that is not what was asked for, or a text that is no JSON: "bytes: must be number, but is
// string", "no JSON at line 2, column 7".
std::string json_trouble(const std::exception& error);

// Any exception: the system's answer where it has one, else what kind of thing went wrong.
std::string exception_words(const std::exception& error);

}  // namespace plumbline
