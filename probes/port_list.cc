#include "probes/port_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/number.h"

namespace plumbline {

Expected<std::vector<int>> parse_port_list(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c != ' ' && c != '[' && c != ']') plain += c;
  }
  std::vector<int> ports;
  for (std::string_view rest = plain; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const size_t dash = part.find('-');
    const auto first = parse_port(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_port(part.substr(dash + 1));
    if (!first || !last || *first > *last) {
      return fail(ErrorCode::kConfig, fmt::format("'{}' is no port and no range of ports", part),
                  "write ports from 1 to 65535 such as 29600-29603,65432");
    }
    for (int port = *first; port <= *last; ++port) ports.push_back(port);
  }
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  return ports;
}

std::string format_port_list(std::vector<int> ports) {
  std::sort(ports.begin(), ports.end());
  std::string out;
  for (size_t i = 0; i < ports.size();) {
    size_t last = i;
    while (last + 1 < ports.size() && ports[last + 1] <= ports[last] + 1) ++last;
    if (!out.empty()) out += ",";
    out += std::to_string(ports[i]);
    if (ports[last] != ports[i]) out += "-" + std::to_string(ports[last]);
    i = last + 1;
  }
  return out;
}

}  // namespace plumbline
