// Numbers on the control connection of a pair: a count, then so many 64-bit numbers, little-endian.
// Neither end believes the other's count beyond what the caller allows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/traffic/patience.h"

namespace plumbline {

constexpr size_t kWordBytes = 8;
void put_words(std::span<const uint64_t> words, unsigned char* at);
void get_words(const unsigned char* at, std::span<uint64_t> words);

Status send_numbers(int fd, const std::vector<uint64_t>& numbers, const Patience& patience);
Expected<std::vector<uint64_t>> receive_numbers(int fd, size_t most, const Patience& patience);

}  // namespace plumbline
