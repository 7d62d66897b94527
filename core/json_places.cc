#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/hint.h"
#include "core/json_scan.h"

namespace plumbline {

std::string spot_text(const JsonSpot& spot) { return fmt::format("{}:{}", spot.line, spot.column); }

void JsonPlaces::add(const std::string& path, JsonSpot spot) {
  constexpr size_t kMost = 100'000;  // a hostile file is not worth the memory
  if (spots_.size() < kMost) spots_.insert_or_assign(path, spot);
}

void JsonPlaces::add_all(const JsonPlaces& top, std::optional<size_t> file) {
  for (auto [path, spot] : top.spots_) {
    spot.file = file.value_or(spot.file);
    add(path, spot);
  }
}

void JsonPlaces::erase_under(const std::string& path) {
  auto it = spots_.lower_bound(path);
  while (it != spots_.end() && it->first.rfind(path, 0) == 0) {
    const char next = it->first.size() == path.size() ? '.' : it->first[path.size()];
    it = next == '.' || next == '[' ? spots_.erase(it) : std::next(it);
  }
}

JsonSpot JsonPlaces::find(std::string_view path) const {
  while (!path.empty()) {
    if (const auto it = spots_.find(path); it != spots_.end()) return it->second;
    const size_t cut = path.find_last_of(".[");
    path = path.substr(0, cut == std::string_view::npos ? 0 : cut);
  }
  return {};
}

std::string json_member_path(const std::string& parent, const std::string& key) {
  const bool plain =
      !key.empty() && key.size() <= 60 && std::all_of(key.begin(), key.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
      });
  return plain ? parent + "." + key : parent + "[" + in_quotes(key) + "]";
}

std::string json_element_path(const std::string& parent, size_t index) {
  return fmt::format("{}[{}]", parent, index);
}

}  // namespace plumbline
