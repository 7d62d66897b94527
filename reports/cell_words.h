// Words about cells, for tables. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/record/cell.h"

namespace plumbline {

// What sets a cell apart from the usual one of its operation, where a table has no column of its
// own for it: "sync window", "4 in flight", "root 2", "on node1+node2", "chunk_bytes=65536" ...;
// empty = as usual.
std::vector<std::string> variant_words(const Cell& cell);
// What the cell has several of at once: operations "in flight", or "streams" of a link.
const char* word_of_outstanding(const Cell& cell);
// "2-4,8"
std::string ranges_text(const std::set<int>& numbers);

}  // namespace plumbline
