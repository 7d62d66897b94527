// Small texts that the pages of the matrix share. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "lab/matrix.h"

namespace plumbline {

std::string joined(const std::vector<std::string>& words, const char* between = ", ");
// "link.down on a", what doctor should have said, and what it said.
std::string expected_words(const CellResult& cell);
std::string said_words(const CellResult& cell);
// Recall, precision and so on, a line each behind `bullet`.
std::string summary_lines(const MatrixSummary& summary, const char* bullet);

}  // namespace plumbline
