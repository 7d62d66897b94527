// What the terminal behind standard output or standard error can show, asked anew each time, so
// that a window may change its size while something runs; and --color auto|always|never, which
// every command takes, at any place before "--". Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"

namespace plumbline {

// Columns; 0 = no terminal, and nothing said in COLUMNS. The user's own word in COLUMNS comes
// first, also where the output goes into a pipe or a file.
int terminal_width(int fd);
// A terminal on which a line can be written over: not with TERM=dumb.
bool is_terminal(int fd);
// One whose cursor can be moved: TERM says what it is, and it is not dumb.
bool can_show_pictures(int fd);
// Lines; 0 = no terminal.
int terminal_height(int fd);
// Colours are wanted where there is a terminal, unless NO_COLOR says something (no-color.org).
bool colour_wanted();

inline constexpr const char* kColourFlag = "--color";

enum class ColourChoice { kAuto, kAlways, kNever };

// The words of --color, in the order of the choices.
const std::vector<std::string>& colour_words();
// Takes the flag out of the command line; the last one counts. kUsage names the choices.
Expected<ColourChoice> take_colour_flag(std::vector<std::string>& argv);
// Whether what goes to a stream is coloured: "auto" = on a terminal, but for NO_COLOR; the flag
// beats the variable (no-color.org).
bool coloured(ColourChoice choice, bool terminal, bool wanted);

}  // namespace plumbline
