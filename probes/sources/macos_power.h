// What pmset(1) of macOS tells without root of how much of its power a Mac may use: the thermal
// pressure that its power management has announced (`pmset -g therm`), and low power mode (`pmset
// -g`). Texts after its manual page and outputs that people have published; nothing of it is
// trusted. Pure functions, thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace plumbline {

// By these names, where the text says something: "speed_limit_percent", "scheduler_limit_percent",
// "available_cpus" (numbers; Intel), "thermal_warning" and "performance_warning" ("none" or "level
// N"). Of several lines about one thing the first counts.
std::map<std::string, std::string> parse_pmset_therm(std::string_view text);

// True: low power mode is on, in the settings that are in use now; absent where they do not say it.
std::optional<bool> parse_low_power_mode(std::string_view text);

}  // namespace plumbline
