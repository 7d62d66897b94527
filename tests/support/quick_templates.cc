// What reading and writing JSON and matching regular expressions is made of, compiled with some
// optimisation and linked before every test (cmake/plumbline.cmake): without it the tests, and the
// libraries under test with them, spend most of their time in what no test optimises.
#include <regex>
#include <string>

#include "core/json.h"

template class nlohmann::basic_json<>;

namespace plumbline::test {

// Never called: whatever these need becomes part of this object.
bool all_ways_of_matching(const std::string& text, const std::regex& pattern);
bool all_ways_of_matching(const std::string& text, const std::regex& pattern) {
  std::smatch parts;
  std::cmatch plain_parts;
  return std::regex_search(text, parts, pattern) || std::regex_match(text, parts, pattern) ||
         std::regex_search(text, pattern) || std::regex_match(text, pattern) ||
         std::regex_search(text.c_str(), plain_parts, pattern) ||
         std::regex_match(text.c_str(), plain_parts, pattern) ||
         std::regex_replace(text, pattern, std::string()).empty() ||
         std::sregex_iterator(text.begin(), text.end(), pattern) != std::sregex_iterator();
}

bool all_ways_of_json(const std::string& text);
bool all_ways_of_json(const std::string& text) {
  return nlohmann::json::accept(text) || nlohmann::json::parse(text, nullptr, false).dump().empty();
}

}  // namespace plumbline::test
