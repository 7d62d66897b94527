// The table of a group of measurements as the page has it: what one looks for first, time, bus
// bandwidth and verdict, stands first, so that it is seen without scrolling, on a phone too; what
// is the same in all rows stands in the caption instead. Pure.
#pragma once

#include <string>

#include "reports/tables.h"

namespace plumbline {

Table page_table(const Table& table, std::string& caption);

}  // namespace plumbline
