// Numbers on the control connection of a pair: a count, then so many 64-bit numbers, little-endian.
// Neither end believes the other's count beyond what the caller allows.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/links/link_session.h"

namespace plumbline {

Status send_numbers(int fd, const std::vector<uint64_t>& numbers, const LinkWait& wait,
                    Deadline deadline);
Expected<std::vector<uint64_t>> receive_numbers(int fd, size_t most, const LinkWait& wait,
                                                Deadline deadline);

}  // namespace plumbline
