// Reading fields out of JSON that a tool printed, without ever throwing: a missing field or one of
// another type gives the empty value. Thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/error.h"

namespace plumbline {

// The array that a tool printed; no output at all is an empty one (`ip -j` does so). kProtocol when
// the text is no JSON array, which names the tool.
Expected<nlohmann::json> parse_json_array(const std::string& text, const char* tool);

std::string text_at(const nlohmann::json& object, const char* key);
// Whole numbers only, in the range of int64_t.
std::optional<int64_t> number_at(const nlohmann::json& object, const char* key);
// True, and also present with null, as iproute2 writes some flags.
bool flag_at(const nlohmann::json& object, const char* key);
// The object or array behind the key; a null value when there is none.
const nlohmann::json& part_at(const nlohmann::json& object, const char* key);

}  // namespace plumbline
