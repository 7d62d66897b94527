#include "transport/control/config_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "transport/control/wire.h"

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
