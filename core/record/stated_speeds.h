// Whether the speeds that links are held against are the user's own word: a key of
// Measurement::extra.
#pragma once

namespace plumbline {

// Of how many links of the record the host file states the speed of both ends. Records of versions
// before it have none.
inline constexpr const char* kStatedSpeeds = "stated_link_speeds_count";

}  // namespace plumbline
