// What is logged, as lines "[plumbline LEVEL time who] text".
#pragma once

#include <functional>
#include <string>

#include "core/log.h"

namespace plumbline {

// For a Logger. `out` gets each line, without its newline and from whatever thread, in place of
// standard error (so that standard output stays machine-readable); empty = none does.
LogSink log_lines(std::function<void(const std::string& line)> out = nullptr);

}  // namespace plumbline
