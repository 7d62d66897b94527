// Drawing with gnuplot: a data file and a script in a folder become an SVG and a PNG beside them.
// The script reads NAME.dat and writes NAME.svg and NAME.png, all in the current folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace plumbline {

// A string literal of gnuplot, cleaned and cut to so many columns, from which no text can escape.
std::string gnuplot_literal(std::string_view text, size_t columns);

// Writes NAME.dat and NAME.gp and draws; appends the four paths to `written`. After an error none
// of the files is left.
Status draw_files(const std::string& folder, const std::string& name, const std::string& data,
                  const std::string& script, std::vector<std::string>& written);

}  // namespace plumbline
