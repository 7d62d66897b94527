// What a text for a public page may be: plain words that a reader sees as they are. `submit` asks
// for such texts and `verify` takes no others, by the same rules. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plumbline {

// Code points of UTF-8: what the limits of texts count.
size_t characters(std::string_view text);

// "holds a link", "holds an invisible character" ..., or empty. Line breaks are no concern of it.
std::string hidden_in(std::string_view text);

}  // namespace plumbline
