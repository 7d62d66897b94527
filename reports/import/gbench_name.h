// The name of a benchmark of Google Benchmark: "copy/bytes:4096/ranks:2" says operation, size and
// ranks; other parts become parameters, so that different arguments stay different cells. Pure.
#pragma once

#include <string>

#include "core/record/record.h"

namespace plumbline {

void take_benchmark_name(const std::string& full, Record& record);

}  // namespace plumbline
