// Where the sources and the program under test are. Their paths stand in one object file of each
// program of tests (surroundings.cc) and in no other, so that a compiler's cache finds the others
// in every checkout.
#pragma once

#include <string>

namespace plumbline::test {

// The folder of the checkout.
std::string source_dir();

// The plumbline of this build; there need not be one.
std::string program_path();

}  // namespace plumbline::test
