// What the terminal behind standard output or standard error can show. Asked anew each time, so
// that a window may change its size while something runs. Thread-safe.
#pragma once

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

}  // namespace plumbline
