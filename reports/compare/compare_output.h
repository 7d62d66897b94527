// A comparison as people and programs read it: the document (console, Markdown), JSON, and a
// picture with the confidence interval of every row. Pure.
#pragma once

#include <string>

#include "reports/compare/compare.h"
#include "reports/document.h"

namespace plumbline {

Document compare_document(const Comparison& comparison);
// One object; docs/comparing.md describes it.
std::string compare_json(const Comparison& comparison);

// For draw_files(): the rows with an interval, those that changed first, at most kMostCompareBars.
inline constexpr size_t kMostCompareBars = 40;
std::string compare_plot_data(const Comparison& comparison);
std::string compare_plot_script(const Comparison& comparison, const std::string& name);

}  // namespace plumbline
