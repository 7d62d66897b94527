#include "transport/control/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace plumbline {
namespace {

constexpr size_t kMaxDifferences = 8;  // named in one error

std::map<std::string, std::string> parse_config(const std::string& text) {
  std::map<std::string, std::string> values;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const size_t equals = line.find('=');
    if (equals != std::string::npos) values[line.substr(0, equals)] = line.substr(equals + 1);
    at = end + 1;
  }
  return values;
}

}  // namespace

void WireWriter::integer(uint64_t value, int width) {
  for (int i = 0; i < width; ++i) {
    buffer_.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xff));
  }
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

std::string config_differences(const std::string& a, int rank_a, const std::string& b, int rank_b) {
  const std::map<std::string, std::string> left = parse_config(a), right = parse_config(b);
  std::set<std::string> keys;
  for (const auto& entry : left) keys.insert(entry.first);
  for (const auto& entry : right) keys.insert(entry.first);
  const auto value = [](const std::map<std::string, std::string>& from, const std::string& key) {
    const auto found = from.find(key);
    return found == from.end() ? std::string("no such key") : printable(found->second, 80);
  };
  std::string text;
  size_t count = 0;
  for (const std::string& key : keys) {
    const std::string ours = value(left, key), theirs = value(right, key);
    if (ours == theirs) continue;
    if (++count > kMaxDifferences) continue;
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: rank {} has {}, rank {} has {}", printable(key, 60), rank_a, ours,
                        rank_b, theirs);
  }
  if (count > kMaxDifferences) text += fmt::format("; and {} more", count - kMaxDifferences);
  return text;
}

}  // namespace plumbline
