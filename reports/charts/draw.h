// Drawing with gnuplot: a data file and a script in a folder become an SVG and a PNG beside them.
// The script reads NAME.dat and writes NAME.svg and NAME.png, all in the current folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace plumbline {

// Feeds a shell command's standard input and waits for its end, over gnuplot-iostream
// (gnuplot_iostream.cc), or over plain popen(3) where that header or Boost is not to be had
// (gnuplot_popen.cc); CMake picks. `input` is well below the pipe's capacity. The caller ignores
// SIGPIPE and judges success by the files that the command was to write.
Status pipe_to(const std::string& command, const std::string& input);

// Why there is no gnuplot to draw with; nothing where there is one.
std::optional<std::string> no_gnuplot();
// Makes the folder of a report, and those above it.
Status make_report_folder(const std::string& folder);

// How a script begins: its data file and its title in two lines, each cut to so many columns.
std::string script_head(const std::string& name);
std::string script_title(std::string_view first, std::string_view second, size_t columns);
// How it ends: draws `plot` on an SVG and a PNG of this size in pixels, whose letters are so large.
std::string script_tail(const std::string& name, const std::string& plot, int width, int height,
                        int letters = 13);
// The first line with words in what gnuplot complained.
std::string first_complaint(const std::string& text);

// Writes NAME.dat and NAME.gp and draws; appends the four paths to `written`. After an error none
// of the files is left.
Status draw_files(const std::string& folder, const std::string& name, const std::string& data,
                  const std::string& script, std::vector<std::string>& written);

}  // namespace plumbline
