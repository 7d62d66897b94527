#include "core/file_word.h"

#include <algorithm>
#include <span>

#include "core/sha256.h"

namespace plumbline {
namespace {

constexpr size_t kLongest = 100;    // bytes that stay of a name; file systems take 255
constexpr size_t kHashDigits = 16;  // as many as nobody meets by chance

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// What file_word() puts behind a name, so that no plain name can stand for another one's file.
bool ends_like_ours(std::string_view name) {
  if (name.size() < kHashDigits + 1) return false;
  const std::string_view tail = name.substr(name.size() - kHashDigits - 1);
  return tail[0] == '-' && std::all_of(tail.begin() + 1, tail.end(), is_hex);
}

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string file_word(std::string_view name) {
  const bool plain = !name.empty() && name.size() <= kLongest && name[0] != '.' &&
                     std::all_of(name.begin(), name.end(), is_plain) && !ends_like_ours(name);
  if (plain) return std::string(name);
  std::string out;
  for (const char c : name.substr(0, kLongest)) {
    const bool keeps = is_plain(small(c)) && !(c == '.' && out.empty());
    out += keeps ? c : '_';
  }
  const Digest digest = sha256(name);
  return out + "-" + to_hex(std::span(digest).first(kHashDigits / 2));
}

std::string FileNames::take(const std::string& word) {
  std::string name = word;
  const auto folded = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), small);
    return text;
  };
  for (size_t i = 2; !taken_.insert(folded(name)).second; ++i) {
    name = word + "_" + std::to_string(i);
  }
  return name;
}

}  // namespace plumbline
