#include "collectives/links/link_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plumbline {

void put_words(std::span<const uint64_t> words, unsigned char* at) {
  for (size_t i = 0; i < words.size() * kWordBytes; ++i) {
    at[i] = static_cast<unsigned char>(words[i / kWordBytes] >> (8 * (i % kWordBytes)));
  }
}

void get_words(const unsigned char* at, std::span<uint64_t> words) {
  std::fill(words.begin(), words.end(), 0);
  for (size_t i = 0; i < words.size() * kWordBytes; ++i) {
    words[i / kWordBytes] |= uint64_t{at[i]} << (8 * (i % kWordBytes));
  }
}

Status send_numbers(int fd, const std::vector<uint64_t>& numbers, const Patience& patience) {
  std::vector<unsigned char> bytes((numbers.size() + 1) * kWordBytes);
  put_words(std::array{uint64_t{numbers.size()}}, bytes.data());
  put_words(numbers, bytes.data() + kWordBytes);
  return send_all(fd, bytes.data(), bytes.size(), patience);
}

Expected<std::vector<uint64_t>> receive_numbers(int fd, size_t most, const Patience& patience) {
  unsigned char head[kWordBytes] = {};
  if (const Status read = receive_all(fd, head, kWordBytes, patience); !read) {
    return fail(read.error());
  }
  std::array<uint64_t, 1> counts{};
  get_words(head, counts);
  const uint64_t count = counts[0];
  if (count > most) {
    return fail(
        ErrorCode::kProtocol,
        fmt::format("the other end announces {} numbers, at most {} make sense", count, most));
  }
  std::vector<unsigned char> bytes(count * kWordBytes);
  const Status read = receive_all(fd, bytes.data(), bytes.size(), patience);
  if (!read) return fail(read.error());
  std::vector<uint64_t> numbers(count);
  get_words(bytes.data(), numbers);
  return numbers;
}

}  // namespace plumbline
