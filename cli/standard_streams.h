// Standard input, output and error as a program may expect them: open. Whoever starts us may have
// closed them (a daemon, `>&-`); the next file or socket would then be number 1, and a report would
// be written into it.
#pragma once

#include <string>

namespace plumbline {

// Called before anything else is opened. A closed standard input becomes an empty one, a closed
// standard error takes everything and keeps nothing, and a closed standard output refuses what is
// written to it (EBADF), so that it is not taken for done. False when even that is not possible.
bool open_standard_streams();

// Why nothing can be written to standard output, for an error; empty when it takes it.
std::string output_trouble();

}  // namespace plumbline
