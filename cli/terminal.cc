#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "core/number.h"

namespace plumbline {

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

}  // namespace plumbline
