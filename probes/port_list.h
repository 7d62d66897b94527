// Lists of TCP ports as people write them: "29600-29603,65432". Pure functions, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace plumbline {

// Sorted, each port once. Brackets, spaces and an empty text are fine; anything else is an error
// that names the part.
Expected<std::vector<int>> parse_port_list(std::string_view text);
// The shortest spelling: {1, 2, 3, 7} -> "1-3,7".
std::string format_port_list(std::vector<int> ports);

}  // namespace plumbline
