#include "cli/colour_flag.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumbline {
namespace {

Expected<ColourChoice> choice_of(const std::string& word) {
  const std::vector<std::string>& words = colour_words();
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<ColourChoice>(found - words.begin());
  return fail(ErrorCode::kUsage, fmt::format("{} '{}' is not known", kColourFlag, word),
              fmt::format("one of: {}", fmt::join(words, ", ")));
}

}  // namespace

const std::vector<std::string>& colour_words() {
  static const std::vector<std::string> kWords = {"auto", "always", "never"};
  return kWords;
}

Expected<ColourChoice> take_colour_flag(std::vector<std::string>& argv) {
  const std::string assigned = std::string(kColourFlag) + "=";
  ColourChoice out = ColourChoice::kAuto;
  for (size_t i = 1; i < argv.size() && argv[i] != "--";) {
    std::string word;
    size_t count = 1;
    if (argv[i] == kColourFlag) {
      count = std::min<size_t>(2, argv.size() - i);
      if (count == 2) word = argv[i + 1];
    } else if (argv[i].rfind(assigned, 0) == 0) {
      word = argv[i].substr(assigned.size());
    } else {
      ++i;
      continue;
    }
    const Expected<ColourChoice> choice = choice_of(word);
    if (!choice) return fail(choice.error());
    out = *choice;
    const auto at = argv.begin() + static_cast<std::ptrdiff_t>(i);
    argv.erase(at, at + static_cast<std::ptrdiff_t>(count));
  }
  return out;
}

bool coloured(ColourChoice choice, bool terminal, bool wanted) {
  if (choice == ColourChoice::kAuto) return terminal && wanted;
  return choice == ColourChoice::kAlways;
}

}  // namespace plumbline
