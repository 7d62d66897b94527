// Charts of a page: drawn by one run of gnuplot, put into the page with legend, labels and the
// values that its script shows.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/charts/chart.h"
#include "reports/html/svg.h"
#include "reports/html/writer.h"

namespace plumbline {

struct Figure {
  Chart chart;
  ChartFrame frame;
  std::string id;  // "f3", unique in the page
  std::optional<SafeSvg> svg;
};

// `why` says in words why some or all have no picture; empty when all have one. Bounded by a
// minute.
std::vector<Figure> draw_figures(std::vector<Chart> charts, std::string& why);

// Nothing when it has no picture.
void write_figure(const Figure& figure, HtmlWriter& html);
// {"width", "height", "series": [{"name", "points": [[x, y, "words"], ...]}]}, pixels of the frame.
nlohmann::json values_of(const Figure& figure);

}  // namespace plumbline
