#include "probes/filters/shell_text.h"

#include <algorithm>

namespace plumbline {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/';
}

}  // namespace

bool is_nft_name(const std::string& text) {
  return is_one_word(text) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_plain(c) || c == '\\'; });
}

bool is_one_word(const std::string& text) {
  return !text.empty() && text[0] != '-' && std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
  });
}

std::vector<std::pair<int, int>> port_ranges(std::vector<int> ports) {
  std::sort(ports.begin(), ports.end());
  std::vector<std::pair<int, int>> ranges;
  for (const int port : ports) {
    if (port < 1 || port > 65535) continue;
    if (!ranges.empty() && port <= ranges.back().second + 1) {
      ranges.back().second = port;
    } else {
      ranges.emplace_back(port, port);
    }
  }
  return ranges;
}

std::string join_ranges(const std::vector<std::pair<int, int>>& ranges, char to,
                        const std::string& between) {
  std::string text;
  for (const auto& [first, last] : ranges) {
    if (!text.empty()) text += between;
    text += std::to_string(first);
    if (last != first) text += to + std::to_string(last);
  }
  return text;
}

std::vector<std::vector<std::pair<int, int>>> split_ranges(
    const std::vector<std::pair<int, int>>& ranges, size_t most) {
  std::vector<std::vector<std::pair<int, int>>> parts;
  size_t used = most;
  for (const auto& range : ranges) {
    const size_t size = range.first == range.second ? 1 : 2;
    if (used + size > most) {
      parts.emplace_back();
      used = 0;
    }
    parts.back().push_back(range);
    used += size;
  }
  return parts;
}

}  // namespace plumbline
