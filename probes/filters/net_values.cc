#include "probes/filters/net_values.h"

#include <algorithm>

#include "core/lower_case.h"
#include "core/number.h"

namespace plumbline {
namespace {

// "24" or "255.255.255.0" as a mask of the family.
std::optional<Ip> parse_mask(std::string_view text, bool v6) {
  if (const auto bits = parse_number(text)) {
    if (*bits > (v6 ? 128 : 32)) return std::nullopt;
    return netmask(static_cast<int>(*bits), v6);
  }
  const auto mask = parse_zoned_ip(text);
  return mask && mask->v6 == v6 ? mask : std::nullopt;
}

}  // namespace

std::optional<bool> address_matches(const std::string& value, const Ip& ip) {
  const size_t slash = value.find('/');
  const size_t dash = value.find('-');
  const std::string_view text = value;
  const auto first = parse_zoned_ip(text.substr(0, std::min(slash, dash)));
  if (!first) return std::nullopt;
  if (slash != std::string::npos) {
    const auto mask = parse_mask(text.substr(slash + 1), first->v6);
    if (!mask) return std::nullopt;
    if (first->v6 != ip.v6) return false;
    for (size_t i = 0; i < ip.size(); ++i) {
      if (((first->bytes[i] ^ ip.bytes[i]) & mask->bytes[i]) != 0) return false;
    }
    return true;
  }
  const auto last = dash == std::string::npos ? first : parse_zoned_ip(text.substr(dash + 1));
  if (!last || last->v6 != first->v6) return std::nullopt;
  return *first <= ip && ip <= *last;
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

}  // namespace plumbline
