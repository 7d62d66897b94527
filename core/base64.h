// Bytes as text and back (RFC 4648, section 4): what JSON carries that is no text. Pure,
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plumbline {

std::string to_base64(std::string_view bytes);
// Nothing of a text that is not exactly what to_base64() gives.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace plumbline
