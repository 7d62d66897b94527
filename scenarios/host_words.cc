#include "scenarios/host_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/host/ip.h"
#include "core/json.h"
#include "core/text.h"

namespace plumbline {
namespace {

constexpr size_t kLongestName = 100;   // bytes; a file's name with more around it stays below 255
constexpr size_t kLongestDevice = 63;  // IBV_SYSFS_NAME_MAX of libibverbs, with its final zero

bool all_digits(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::string host_name_problem(const std::string& text) {
  const auto is_letter = [](unsigned char c) { return c < 0x80 && std::isalnum(c) != 0; };
  if (text.empty()) return "is empty";
  if (text.size() > kLongestName) {
    return fmt::format("{} is longer than {} bytes", in_quotes(text), kLongestName);
  }
  const bool word = is_letter(static_cast<unsigned char>(text[0])) &&
                    std::all_of(text.begin(), text.end(), [&](unsigned char c) {
                      return is_letter(c) || std::string_view("._-:%+").find(
                                                 static_cast<char>(c)) != std::string_view::npos;
                    });
  return word ? "" : fmt::format("{} is no name of a host", in_quotes(text));
}

std::string scenario_name_problem(const std::string& text) {
  if (text.size() > kLongestName) {
    return fmt::format("{} is longer than {} bytes", in_quotes(text), kLongestName);
  }
  const bool words = is_printable(text) && text.find_first_of("/\\:*?\"<>|") == std::string::npos;
  return words ? "" : fmt::format("{} cannot be the name of a scenario", in_quotes(text));
}

std::string ip_problem(const std::string& text) {
  return parse_ip(text) ? "" : fmt::format("{} is not an IP address", in_quotes(text));
}

std::string address_problem(const std::string& text) {
  const size_t slash = text.find('/');
  const std::optional<Ip> ip = parse_ip(std::string_view(text).substr(0, slash));
  if (!ip) return fmt::format("{} is not an IP address", in_quotes(text));
  if (slash == std::string::npos || parse_ip_subnet(text)) return {};
  return fmt::format("{} has no prefix length from 0 to {}", in_quotes(text), ip->bits());
}

std::string destination_problem(const std::string& text) {
  const bool bad = !is_printable(text) || text.empty() || text.front() == '-' ||
                   text.back() == '@' || std::any_of(text.begin(), text.end(), [](unsigned char c) {
                     return c <= 0x20 || c == 0x7f || c == '\'' || c == '"' || c == '\\';
                   });
  return bad ? fmt::format("{} is no destination", in_quotes(text)) : "";
}

std::string device_problem(const std::string& text) {
  const bool word = !text.empty() && text.size() <= kLongestDevice &&
                    std::all_of(text.begin(), text.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
                    });
  if (!word) return fmt::format("{} is no name of an RDMA device", in_quotes(text));
  if (text.rfind("en", 0) == 0 && all_digits(text.substr(2))) {
    return fmt::format("'{}' is a network interface; its RDMA device is 'rdma_{}'", text, text);
  }
  return {};
}

bool names_this_machine(const std::string& destination) {
  return destination == "127.0.0.1" || destination == "localhost" || destination == "::1";
}

std::string without_user(const std::string& destination) {
  return destination.substr(destination.rfind('@') + 1);
}

std::string interface_of_device(const std::string& device) {
  constexpr std::string_view kPrefix = "rdma_";
  return device.rfind(kPrefix, 0) == 0 ? device.substr(kPrefix.size()) : "";
}

std::vector<std::vector<std::string>> read_matrix_row(const Json& row, const std::string& where,
                                                      Problems& problems) {
  std::vector<std::vector<std::string>> cells;
  for (size_t i = 0; i < row.size(); ++i) {
    std::vector<std::string>& cell = cells.emplace_back();
    if (row[i].is_string()) cell.push_back(row[i].get<std::string>());
    if (row[i].is_array()) {
      for (const Json& device : row[i]) {
        if (device.is_string()) cell.push_back(device.get<std::string>());
      }
    }
    for (const std::string& device : cell) {
      const std::string problem = device_problem(device);
      if (problem.empty()) continue;
      problems.add(json_path(where, i), problem, "`ibv_devices` on that host lists them");
    }
  }
  return cells;
}

}  // namespace plumbline
