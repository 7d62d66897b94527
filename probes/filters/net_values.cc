#include "probes/filters/net_values.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "core/number.h"

namespace plumbline {
namespace {

// "24" or "255.255.255.0" as a mask of the address's size.
std::optional<NetAddress> parse_mask(std::string_view text, bool v6) {
  NetAddress mask;
  mask.v6 = v6;
  if (const auto bits = parse_number(text)) {
    if (*bits < 0 || *bits > static_cast<int64_t>(mask.size()) * 8) return std::nullopt;
    for (int64_t i = 0; i < *bits; ++i) {
      uint8_t& byte = mask.bytes[static_cast<size_t>(i / 8)];
      byte = static_cast<uint8_t>(byte | (0x80 >> (i % 8)));
    }
    return mask;
  }
  const auto address = parse_net_address(text);
  if (!address || address->v6 != v6) return std::nullopt;
  return address;
}

}  // namespace

std::optional<NetAddress> parse_net_address(std::string_view text) {
  char copy[INET6_ADDRSTRLEN + 1];
  text = text.substr(0, text.find('%'));
  if (text.empty() || text.size() >= sizeof copy) return std::nullopt;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  NetAddress address;
  address.v6 = text.find(':') != std::string_view::npos;
  if (inet_pton(address.v6 ? AF_INET6 : AF_INET, copy, address.bytes.data()) != 1) {
    return std::nullopt;
  }
  return address;
}

std::string to_text(const NetAddress& address) {
  char text[INET6_ADDRSTRLEN];
  const char* done =
      inet_ntop(address.v6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);
  return done == nullptr ? std::string() : std::string(done);
}

std::optional<bool> address_matches(const std::string& value, const NetAddress& ip) {
  const size_t slash = value.find('/');
  const size_t dash = value.find('-');
  const auto first = parse_net_address(std::string_view(value).substr(0, std::min(slash, dash)));
  if (!first) return std::nullopt;
  const size_t size = ip.size();
  if (slash != std::string::npos) {
    const auto mask = parse_mask(std::string_view(value).substr(slash + 1), first->v6);
    if (!mask) return std::nullopt;
    if (first->v6 != ip.v6) return false;
    for (size_t i = 0; i < size; ++i) {
      if (((first->bytes[i] ^ ip.bytes[i]) & mask->bytes[i]) != 0) return false;
    }
    return true;
  }
  auto last = first;
  if (dash != std::string::npos) last = parse_net_address(std::string_view(value).substr(dash + 1));
  if (!last || last->v6 != first->v6) return std::nullopt;
  if (first->v6 != ip.v6) return false;
  return std::memcmp(first->bytes.data(), ip.bytes.data(), size) <= 0 &&
         std::memcmp(ip.bytes.data(), last->bytes.data(), size) <= 0;
}

std::optional<int64_t> parse_number(std::string_view text) {
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  }
  return parse_whole<int64_t>(text, 0, INT64_MAX, base);
}

std::optional<bool> number_matches(const std::string& value, int64_t number) {
  const size_t dash = value.find('-');
  const auto first = parse_number(std::string_view(value).substr(0, dash));
  const auto last =
      dash == std::string::npos ? first : parse_number(std::string_view(value).substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return *first <= number && number <= *last;
}

bool name_matches(const std::string& pattern, const std::string& name) {
  if (pattern.empty() || pattern.back() != '*') return pattern == name;
  return name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
}

std::vector<std::string> split_words(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    if (end != 0) words.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return words;
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace plumbline
