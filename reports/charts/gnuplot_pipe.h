// Feeding a shell command's standard input and waiting for its end: the one thing the plots need
// from outside. Implemented over gnuplot-iostream (gnuplot_iostream.cc), or over plain popen(3)
// where that header or Boost is not to be had (gnuplot_popen.cc); CMake picks.
#pragma once

#include <string>

#include "core/error.h"

namespace plumbline {

// Runs `command` in a shell with `input` (well below the pipe's capacity) as its standard input.
// The caller ignores SIGPIPE and judges success by the files that the command was to write.
Status pipe_to(const std::string& command, const std::string& input);

}  // namespace plumbline
