// Records from the standard input, of which somebody has read the beginning already to find out
// what it holds: a pipe cannot be read twice. Otherwise as for_each_record() of
// core/record/record.h.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/record/record.h"

namespace plumbline {

// `start` must stay good during the call.
Status for_each_piped_record(std::string_view start, std::vector<std::string>* warnings,
                             const std::function<void(const Record&)>& take);

}  // namespace plumbline
