// --color auto|always|never, which every command takes, at any place before "--".
#pragma once

#include <string>
#include <vector>

#include "core/error.h"

namespace plumbline {

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
