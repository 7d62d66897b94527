// What the program knows of its other ranks: how to average an array with them.
#pragma once

#include <string>
#include <vector>

// Rank `rank` of `size` replaces `values` by their mean over all ranks. The ranks find one another
// through files in `folder`. Empty = done, otherwise what went wrong.
std::string average(int rank, int size, const std::string& folder, std::vector<float>& values);

// The same with `size` threads of this process for ranks; `values` are those of all of them.
std::string average_of_threads(int size, std::vector<std::vector<float>>& values);

// Likewise, but ranks 0 and 1 have a mean of their own, 2 and 3, and so on; one that is left over
// keeps its numbers.
std::string average_of_pairs(int size, std::vector<std::vector<float>>& values);
