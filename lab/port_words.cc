#include "lab/port_words.h"

#include <set>
#include <sstream>

#include "core/number.h"

namespace plumbline {

Expected<std::vector<int>> parse_ports(const std::string& text) {
  std::set<int> ports;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t dash = part.find('-');
    const auto first = parse_port(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_port(part.substr(dash + 1));
    if (!first || !last || *last < *first) {
      return fail(ErrorCode::kConfig, "'" + part + "' is no port and no range of ports",
                  "write them as 29500,29600-29603");
    }
    for (int port = *first; port <= *last; ++port) ports.insert(port);
  }
  if (ports.empty()) return fail(ErrorCode::kConfig, "no ports given");
  return std::vector<int>(ports.begin(), ports.end());
}

std::vector<std::pair<int, int>> port_runs(const std::vector<int>& ports) {
  std::vector<std::pair<int, int>> runs;
  for (const int port : ports) {
    if (!runs.empty() && runs.back().second + 1 == port) {
      runs.back().second = port;
    } else {
      runs.emplace_back(port, port);
    }
  }
  return runs;
}

std::string port_words(const std::vector<int>& ports, const char* comma, const char* dash) {
  std::string out;
  for (const auto& [first, last] : port_runs(ports)) {
    if (!out.empty()) out += comma;
    out += std::to_string(first);
    if (last > first) out += dash + std::to_string(last);
  }
  return out;
}

}  // namespace plumbline
