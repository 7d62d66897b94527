// How reports show each kind of cell (core/record/cell.h): one row a kind, in the order of
// their tables in console and Markdown. (A kind's section of the HTML page is a row of
// reports/html/sections.cc.) Pure.
#pragma once

#include <span>
#include <string_view>

#include "reports/document.h"
#include "reports/view.h"

namespace plumbline {

// How to read a column of the tables of a kind; said where such a column is there.
struct ColumnLegend {
  std::string_view column;
  const char* text;
};

struct KindView {
  CellKind kind;
  const char* title;  // of its tables
  // Adds heading and tables, where there are such cells.
  void (*add)(const View& view, const KindView& shown, Document& document);
  std::span<const ColumnLegend> legends;
};

std::span<const KindView> kind_view_table();

// One table for each operation, algorithm, number of ranks and transport.
void add_group_tables(const View& view, const KindView& shown, Document& document);

}  // namespace plumbline
