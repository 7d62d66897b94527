#include "probes/traces/byte_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/input_file.h"

namespace plumbline {

Expected<ByteReader> ByteReader::open(const std::string& path) {
  ByteReader reader;
  Expected<Fd> file = open_input_file(path);
  if (!file) return fail(file.error());
  reader.fd_ = std::move(*file);
  reader.buffer_.resize(2 * kMaxPiece);
  reader.bytes_ = reader.buffer_.data();
  return reader;
}

ByteReader ByteReader::over(std::string_view bytes) {
  ByteReader reader;
  reader.bytes_ = reinterpret_cast<const uint8_t*>(bytes.data());
  reader.size_ = bytes.size();
  reader.ended_ = true;
  return reader;
}

// Tries to have at least `n` bytes in the buffer.
void ByteReader::fill(size_t n) {
  if (ended_) return;
  if (at_ + n > buffer_.size()) {
    std::memmove(buffer_.data(), buffer_.data() + at_, left());
    size_ -= at_;
    at_ = 0;
  }
  while (left() < n) {
    const ssize_t got = ::read(fd_.get(), buffer_.data() + size_, buffer_.size() - size_);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      errno_ = got < 0 ? errno : 0;
      ended_ = true;
      return;
    }
    size_ += static_cast<size_t>(got);
  }
}

const uint8_t* ByteReader::peek(size_t n) {
  if (n > kMaxPiece) return nullptr;
  if (left() < n) fill(n);
  return left() < n ? nullptr : bytes_ + at_;
}

const uint8_t* ByteReader::take(size_t n) {
  const uint8_t* piece = peek(n);
  if (piece != nullptr) at_ += n;
  return piece;
}

bool ByteReader::skip(uint64_t n) {
  while (n > 0) {
    if (left() == 0) fill(1);
    if (left() == 0) return false;
    const auto step = static_cast<size_t>(std::min<uint64_t>(n, left()));
    at_ += step;
    n -= step;
  }
  return true;
}

}  // namespace plumbline
