// Samples as short text: base64 of the differences from one sample to the next (the first one: from
// 0), each as a zigzag varint (0, -1, 1, -2 ... become 0, 1, 2, 3 ...; seven bits a byte, lowest
// first, the highest bit set where more follow). docs/record_format.md tells how others read it.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

std::string pack_samples(const std::vector<int64_t>& samples);
// False, with rubbish in `samples`, for a text that is no such list.
bool unpack_samples(std::string_view text, std::vector<int64_t>& samples);

}  // namespace plumbline
