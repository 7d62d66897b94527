// Foreign text made fit to be shown: what would move a cursor, break a line or turn the direction
// of writing is written out as an escape that can be read. Pure functions, thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace plumbline {

// Control characters (C0, DEL, C1), line separators, marks that turn the direction of writing, and
// bytes that are no UTF-8 become \x1b or \u202e; those in `keep` stay.
std::string shown(std::string_view text, std::string_view keep = {});
// The same, cut at about `most` bytes: for one value in a line.
std::string shown_short(std::string_view text, size_t most = 80);

}  // namespace plumbline
