// What writing and reading of records share. Inner part of core/record.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace plumbline {

// Of the value of `environment` in a line of its own.
std::string hash_of_environment(const nlohmann::json& environment);

// With this every line of an environment begins that plumbline has written: keys are sorted.
inline constexpr std::string_view kEnvironmentStart = "{\"environment\":{";

}  // namespace plumbline
