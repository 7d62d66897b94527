// The HTML page of a run: one file with everything in it, in sections that stand in one table
// (sections.cc). Each section is a function that writes its part, and another that says whether
// there is anything to write. The page says the same as console and Markdown, from the same parts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/charts/chart.h"
#include "reports/html/writer.h"
#include "reports/links/link_view.h"
#include "reports/report.h"
#include "reports/view.h"

namespace plumbline {

// Charts of a page: drawn by one run of gnuplot, put into the page with legend, labels and the
// values that its script shows.

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

// The page shall never be larger than this, whatever the records hold.
inline constexpr size_t kMostPageBytes = 2'000'000;

// What a page may hold; tried one after the other until the page is small enough.
struct PageLimits {
  RowBudget rows;
  size_t pictures = 24;            // of all kinds together
  size_t listed = 50;              // findings, rules, checks, hosts
  size_t scenario_bytes = 65'536;  // of the scenario's text
  size_t text_bytes = 4000;        // of any one string
  size_t heat_maps = 16;
};

struct Page {
  const ReportInput* input = nullptr;
  const View* view = nullptr;
  std::vector<LinkWorld> worlds;
  std::vector<RankWorld> ranks;
  // Figures by the section that shows them.
  std::vector<std::pair<std::string, Figure>> figures;
  std::string no_pictures;  // why some are missing; empty = none are
  size_t left_out = 0;      // pictures beyond the limit
  std::string directory;    // where it will lie; empty = not known
  PageLimits limits;
  RowBudget rows;  // what is left of limits.rows
};

struct PageSection {
  const char* id;     // anchor
  const char* title;  // heading, and word of the navigation
  bool (*there)(const Page& page);
  void (*write)(Page& page, HtmlWriter& html);
};
std::span<const PageSection> page_sections();

// The figures of one section, in columns; with a sentence where they could not be drawn.
void write_figures(const Page& page, const std::string& section, HtmlWriter& html);
bool has_figures(const Page& page, const std::string& section);

// How the run ended, in a word and a sentence.
struct PageAnswer {
  Tone tone = Tone::kPlain;
  std::string word, sentence;
};
PageAnswer answer_of(const Page& page);

std::string page_text(Page& page);

// verdict.cc
void write_verdict(Page& page, HtmlWriter& html);
void write_tiles(const Page& page, HtmlWriter& html);
// sections.cc
bool has_links(const Page& page);
void write_links(Page& page, HtmlWriter& html);
// measure_sections.cc
// The figures and tables of one kind of cells; their section's id is the kind's name.
bool has_cells_of(const Page& page, CellKind kind);
void write_cells_of(Page& page, CellKind kind, HtmlWriter& html);
template <CellKind Kind>
bool has_cells(const Page& page) {
  return has_cells_of(page, Kind);
}
template <CellKind Kind>
void write_cells(Page& page, HtmlWriter& html) {
  write_cells_of(page, Kind, html);
}
void write_latency(Page& page, HtmlWriter& html);
void write_bandwidth(Page& page, HtmlWriter& html);
void write_throughput(Page& page, HtmlWriter& html);
bool has_tails(const Page& page);
void write_tails(Page& page, HtmlWriter& html);
bool has_work(const Page& page);
void write_work(Page& page, HtmlWriter& html);
bool has_ranks(const Page& page);
void write_ranks(Page& page, HtmlWriter& html);
bool has_strips(const Page& page);
void write_strips(Page& page, HtmlWriter& html);
// story_sections.cc
bool has_soaks(const Page& page);
void write_soaks(Page& page, HtmlWriter& html);
bool has_checks(const Page& page);
void write_checks(Page& page, HtmlWriter& html);
bool has_noise(const Page& page);
void write_noise(Page& page, HtmlWriter& html);
bool has_environment(const Page& page);
void write_environment(Page& page, HtmlWriter& html);
bool has_reproduction(const Page& page);
void write_reproduction(Page& page, HtmlWriter& html);

}  // namespace plumbline
