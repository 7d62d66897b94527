#include "cli/usage_words.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "core/text.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// The parser's kind of error, where in its text the words of the user stand, and what we say
// around them.
struct UsageRow {
  CLI::ExitCodes kind;
  std::string_view behind,
      before;  // of the words that are kept; empty = from the start, to the end
  const char* words;
};
constexpr std::array kRows = {
    UsageRow{CLI::ExitCodes::ExtrasError, "expected: ", "",
             "no argument or flag of this command: {}"},
    UsageRow{CLI::ExitCodes::RequiredError, "", " is required", "{} is missing"},
    UsageRow{CLI::ExitCodes::ArgumentMismatch, "", ": ", "{} needs a value"},
    UsageRow{CLI::ExitCodes::ConversionError, "", "", "a flag has a value that it cannot have"},
    UsageRow{CLI::ExitCodes::InvalidError, "", "", "too many values"},
};

// Where the description on a line begins: behind the first gap of two spaces; without one where the
// line itself begins.
size_t text_column(const std::string& line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t gap = line.find("  ", begin);
  const size_t text = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
  return text == std::string::npos ? begin : text;
}

}  // namespace

std::string usage_words(int kind, const std::string& text) {
  for (const UsageRow& row : kRows) {
    if (kind != static_cast<int>(row.kind)) continue;
    const size_t at = row.behind.empty() ? std::string::npos : text.find(row.behind);
    std::string kept = at == std::string::npos ? text : text.substr(at + row.behind.size());
    if (!row.before.empty()) kept = kept.substr(0, kept.find(row.before));
    if (kept == "A subcommand") kept = "a command";
    return fmt::format(fmt::runtime(row.words), printable(kept));
  }
  return "the arguments do not fit this command";
}

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
