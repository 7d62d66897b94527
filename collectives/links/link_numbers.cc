#include "collectives/links/link_numbers.h"

#include <fmt/format.h>

namespace plumbline {
namespace {

constexpr size_t kWord = 8;  // bytes

void write_number(uint64_t number, unsigned char* at) {
  for (size_t i = 0; i < kWord; ++i) at[i] = static_cast<unsigned char>(number >> (8 * i));
}

uint64_t read_number(const unsigned char* at) {
  uint64_t number = 0;
  for (size_t i = 0; i < kWord; ++i) number |= uint64_t{at[i]} << (8 * i);
  return number;
}

}  // namespace

Status send_numbers(int fd, const std::vector<uint64_t>& numbers, const LinkWait& wait,
                    Deadline deadline) {
  std::vector<unsigned char> bytes((numbers.size() + 1) * kWord);
  write_number(numbers.size(), bytes.data());
  for (size_t i = 0; i < numbers.size(); ++i)
    write_number(numbers[i], bytes.data() + (i + 1) * kWord);
  return link_send(fd, bytes.data(), bytes.size(), wait, deadline);
}

Expected<std::vector<uint64_t>> receive_numbers(int fd, size_t most, const LinkWait& wait,
                                                Deadline deadline) {
  unsigned char head[kWord] = {};
  if (const Status read = link_receive(fd, head, kWord, wait, deadline); !read) {
    return fail(read.error());
  }
  const uint64_t count = read_number(head);
  if (count > most) {
    return fail(
        ErrorCode::kProtocol,
        fmt::format("the other end announces {} numbers, at most {} make sense", count, most));
  }
  std::vector<unsigned char> bytes(count * kWord);
  const Status read = link_receive(fd, bytes.data(), bytes.size(), wait, deadline);
  if (!read) return fail(read.error());
  std::vector<uint64_t> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = read_number(bytes.data() + i * kWord);
  return numbers;
}

}  // namespace plumbline
