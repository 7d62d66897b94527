// Names of the series of a chart: of everything that is known about each one only what tells them
// apart, so that a legend stays readable. Pure.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

// What may stand in a label.
struct LabelColumn {
  enum class When {
    kVaries,  // where the series differ in it
    kNeeded,  // only of series that nothing else tells apart (the run)
    kAlways,
  };
  When when = When::kVaries;
};

// One label per row, its words in the order of the columns; rows that are equal get equal labels. A
// row has as many words as there are columns; empty words are left out. Where a label would be
// empty it is the row's first word.
std::vector<std::string> series_labels(const std::vector<LabelColumn>& columns,
                                       const std::vector<std::vector<std::string>>& rows);

// Beginnings of ids ("import-0123456789ab"), as short as they still differ, but no shorter than
// people can recognise.
std::vector<std::string> short_ids(const std::vector<std::string>& ids);

// Cleaned, and at most so many columns wide: what is too long loses its middle, because names often
// differ in their ends only.
std::string fit_label(const std::string& text, size_t columns);

}  // namespace plumbline
