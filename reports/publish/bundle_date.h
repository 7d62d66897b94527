// Days as bundles write them: YYYY-MM-DD, UTC. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plumbline {

// Days since 1970-01-01; nullopt for what is no day of the calendar (2026-02-30).
std::optional<int64_t> day_number(std::string_view date);

}  // namespace plumbline
