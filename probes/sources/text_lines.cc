#include "probes/sources/text_lines.h"

#include <algorithm>

namespace plumbline {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  size_t at = 0;
  while (true) {
    at = line.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) return out;
    const size_t end = std::min(line.find_first_of(" \t", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end;
  }
}

std::vector<std::pair<std::string_view, std::string_view>> file_lines(std::string_view text) {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for (const std::string_view line : lines_of(text)) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    out.emplace_back(line.substr(0, colon), line.substr(colon + 1));
  }
  return out;
}

std::string first_line(std::string_view text) {
  constexpr size_t kLongest = 200;
  for (const std::string_view line : lines_of(text)) {
    std::string out;
    for (const char c : line.substr(0, kLongest)) {
      const auto byte = static_cast<unsigned char>(c);
      out += byte < 0x20 || byte == 0x7f ? ' ' : c;
    }
    if (out.find_first_not_of(' ') != std::string::npos) return out;
  }
  return {};
}

std::string_view word_after(const std::vector<std::string_view>& words, std::string_view key) {
  const auto it = std::find(words.begin(), words.end(), key);
  return it == words.end() || it + 1 == words.end() ? std::string_view() : *(it + 1);
}

}  // namespace plumbline
