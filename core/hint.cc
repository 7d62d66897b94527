#include "core/hint.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/options/options.h"

namespace plumbline {

std::string hint_for(const std::string& name, const std::vector<std::string>& valid) {
  constexpr size_t kMost = 20;
  if (valid.empty()) return {};
  const std::string near_to = nearest_name(name, valid);
  if (!near_to.empty()) return fmt::format("did you mean '{}'?", near_to);
  std::string list = valid.size() == 1 ? "accepted: " : "one of: ";
  for (size_t i = 0; i < std::min(valid.size(), kMost); ++i) {
    list += (i == 0 ? "" : ", ") + valid[i];
  }
  return valid.size() > kMost ? list + " ..." : list;
}

std::string in_quotes(const std::string& text) {
  constexpr size_t kMost = 60;
  std::string out = "'";
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  return out + (text.size() > kMost ? "...'" : "'");
}

}  // namespace plumbline
