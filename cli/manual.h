// The manual page plumbline(1), made from the tables: every command with its flags, every option
// and exit code. Pure.
#pragma once

#include <string>

namespace plumbline {

// As roff with the macros of man(7).
std::string manual_page();

}  // namespace plumbline
