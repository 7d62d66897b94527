#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/number.h"

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

// Below kNarrowest nothing can be laid out any more, so that such a value is taken for none.
int terminal_width(int fd) {
  constexpr int kNarrowest = 40, kWidest = 10'000;
  if (const char* text = std::getenv("COLUMNS"); text != nullptr) {
    if (const auto columns = parse_whole(text, kNarrowest, kWidest)) return *columns;
  }
  winsize size{};
  if (isatty(fd) == 0 || ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

bool is_terminal(int fd) {
  const char* kind = std::getenv("TERM");
  return isatty(fd) != 0 && (kind == nullptr || std::string_view(kind) != "dumb");
}

bool can_show_pictures(int fd) {
  const char* kind = std::getenv("TERM");
  return kind != nullptr && *kind != '\0' && is_terminal(fd);
}

int terminal_height(int fd) {
  winsize size{};
  if (isatty(fd) == 0 || ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_row;
}

bool colour_wanted() {
  const char* no = std::getenv("NO_COLOR");
  return no == nullptr || *no == '\0';
}

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
