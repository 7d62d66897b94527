// The one table of the page's sections, in the order of the page. A new one is a row here and its
// two functions.
#include "reports/html/page.h"

namespace plumbline {
namespace {

bool always(const Page& /*page*/) { return true; }

constexpr PageSection kSections[] = {
    {"verdict", "Verdict", always, write_verdict},
    {"links", "Links", has_links, write_links},
    {"latency", "Latency", has_cells<CellKind::kLatency>, write_latency},
    {"bandwidth", "Bandwidth", has_cells<CellKind::kBandwidth>, write_bandwidth},
    {"throughput", "Throughput", has_cells<CellKind::kThroughput>, write_throughput},
    {"tails", "Tails", has_tails, write_tails},
    {"ranks", "Ranks", has_ranks, write_ranks},
    {"order", "Times in order", has_strips, write_strips},
    {"soak", "Soak", has_soaks, write_soaks},
    {"checks", "Checks", has_checks, write_checks},
    {"noise", "Noise", has_noise, write_noise},
    {"environment", "Environment", has_environment, write_environment},
    {"reproduce", "How to reproduce", has_reproduction, write_reproduction},
};

}  // namespace

std::span<const PageSection> page_sections() { return kSections; }

bool has_figures(const Page& page, const std::string& section) {
  for (const auto& [name, figure] : page.figures) {
    if (name == section) return true;
  }
  return false;
}

void write_figures(const Page& page, const std::string& section, HtmlWriter& html) {
  size_t drawn = 0, missing = 0;
  for (const auto& [name, figure] : page.figures) {
    if (name != section) continue;
    (figure.svg ? drawn : missing)++;
  }
  if (drawn > 0) {
    const auto columns = html.in("div", {{"class", "columns"}});
    for (const auto& [name, figure] : page.figures) {
      if (name == section) write_figure(figure, html);
    }
  }
  if (missing > 0) {
    html.element("p",
                 std::to_string(missing) + (missing == 1 ? " plot is" : " plots are") +
                     " missing here: " + page.no_pictures,
                 {{"class", "note tone-warn"}});
  }
}

}  // namespace plumbline
