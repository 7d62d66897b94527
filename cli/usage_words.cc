#include "cli/usage_words.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <string_view>

#include "core/printable.h"

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

}  // namespace plumbline
