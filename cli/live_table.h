// The rows that a live run shows on a terminal: one per finished cell, in columns of fixed width,
// so that the table can grow line by line. A narrow terminal gets fewer columns. Pure.
#pragma once

#include <string>

#include "core/record/record.h"

namespace plumbline {

// No wider than `width` columns (0 = unlimited), without newline.
std::string live_header(int width);
std::string live_row(const Record& record, int width, bool colour);

}  // namespace plumbline
