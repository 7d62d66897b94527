#include "transport/control/wire.h"

#include <algorithm>
#include <cstring>

namespace plumbline {

void WireWriter::integer(uint64_t value, int width) {
  for (int i = 0; i < width; ++i) {
    buffer_.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xff));
  }
}

void WireWriter::bytes(std::span<const std::byte> data) {
  buffer_.insert(buffer_.end(), data.begin(), data.end());
}

void WireWriter::text(std::string_view value, size_t limit) {
  const std::string_view cut = value.substr(0, std::min<size_t>(limit, 0xffff));
  u16(static_cast<uint16_t>(cut.size()));
  bytes(std::as_bytes(std::span(cut.data(), cut.size())));
}

uint64_t WireReader::integer(int width) {
  if (!ok_ || data_.size() < static_cast<size_t>(width)) {
    ok_ = false;
    return 0;
  }
  uint64_t value = 0;
  for (int i = 0; i < width; ++i) {
    value |= static_cast<uint64_t>(data_[static_cast<size_t>(i)]) << (8 * i);
  }
  data_ = data_.subspan(static_cast<size_t>(width));
  return value;
}

void WireReader::bytes(std::span<std::byte> out) {
  if (!ok_ || data_.size() < out.size()) {
    ok_ = false;
    std::fill(out.begin(), out.end(), std::byte{0});
    return;
  }
  if (!out.empty()) std::memcpy(out.data(), data_.data(), out.size());
  data_ = data_.subspan(out.size());
}

std::string WireReader::text() {
  const size_t length = u16();
  if (!ok_ || data_.size() < length) {
    ok_ = false;
    return {};
  }
  std::string value(length, '\0');
  if (length > 0) std::memcpy(value.data(), data_.data(), length);
  data_ = data_.subspan(length);
  return value;
}

std::string printable(std::string_view text, size_t limit) {
  std::string clean(text.substr(0, limit));
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return clean;
}

}  // namespace plumbline
