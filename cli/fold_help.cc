#include "cli/fold_help.h"

#include <algorithm>
#include <sstream>

#include "reports/text.h"

namespace plumbline {
namespace {

// Where the description on a line begins: behind the first gap of two spaces; without one where the
// line itself begins.
size_t text_column(const std::string& line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t gap = line.find("  ", begin);
  const size_t text = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
  return text == std::string::npos ? begin : text;
}

}  // namespace

std::string fold_help(const std::string& text, size_t width) {
  if (width == 0) return text;
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.size() <= width) {
      out += line + "\n";
      continue;
    }
    constexpr size_t kLeast = 24, kBelow = 6;  // columns
    const size_t column = text_column(line);
    std::string beside = line.substr(0, column);
    if (column + kLeast > width) {  // no room: the description stands below
      out += beside.substr(0, beside.find_last_not_of(' ') + 1) + "\n";
      beside.assign(kBelow, ' ');
    }
    for (const std::string& part : wrap(line.substr(column), width, beside)) out += part + "\n";
  }
  return out;
}

}  // namespace plumbline
