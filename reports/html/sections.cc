// The one table of the page's sections, in the order of the page: a new one is a row here and its
// two functions. And the section of the links: the topology as a picture, each matrix as a heat map
// of numbers (a table, so that it can be read aloud, copied, and made without gnuplot), outliers,
// counters, ring orders.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/record/link.h"
#include "reports/charts/heat_map.h"
#include "reports/html/page.h"
#include "reports/links/link_view.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr int kMostColumns = 32;  // ranks: a wider matrix is left to the pictures of `links`
constexpr int kMostDrawn = 24;    // ranks of a topology that can still be read
constexpr size_t kMostWorlds = 4;
constexpr int kLevels = 8;

void write_field(const LinkGrid& grid, size_t pair, bool self, HtmlWriter& html) {
  const std::optional<double> heat = heat_of(grid, pair);
  if (!heat) {
    html.element("td", self ? "" : "-", {{"class", "self"}});
    return;
  }
  const int level = static_cast<int>(std::lround(*heat * kLevels));
  const auto cell = html.in("td", {{"class", fmt::format("h{}", std::clamp(level, 0, kLevels))}});
  html.text(grid_text(grid.unit, grid.values[pair]));
  if (grid.unit == LinkUnit::kRate) html.element("small", gbps_text(grid.values[pair]) + " GB/s");
}

void write_heat_map(const LinkWorld& world, const LinkGrid& grid, HtmlWriter& html) {
  const auto figure = html.in("figure", {{"class", "heat"}});
  {
    const auto caption = html.in("figcaption");
    html.element("b", grid.title);
    html.element("span",
                 higher_is_better(grid.unit) ? "higher is better: blue" : "lower is better: blue");
  }
  const auto box = html.in("div", {{"class", "scroll"},
                                   {"tabindex", "0"},
                                   {"role", "region"},
                                   {"aria-label", "Heat map: " + grid.title}});
  const auto table = html.in("table");
  html.element("caption", grid.title + ", senders down, receivers across", {{"class", "hidden"}});
  {
    const auto head = html.in("thead");
    const auto row = html.in("tr");
    html.element("th", "from \\ to", {{"scope", "col"}});
    for (const std::string& name : world.names) html.element("th", name, {{"scope", "col"}});
  }
  const auto body = html.in("tbody");
  for (int from = 0; from < world.ranks; ++from) {
    const auto row = html.in("tr");
    html.element("th", world.names[static_cast<size_t>(from)], {{"scope", "row"}});
    for (int to = 0; to < world.ranks; ++to) {
      write_field(grid, pair_index(world.ranks, from, to), from == to, html);
    }
  }
}

void write_topology(const LinkWorld& world, size_t index, HtmlWriter& html) {
  if (world.ranks > kMostDrawn) {
    write_note("The topology is too large to be drawn here: links/topology.svg", html);
    return;
  }
  const LinkVerdicts verdicts = judge_world(world);
  const std::string kind = classify_topology(world.direct(), world.ranks);
  const auto svg =
      make_safe_svg(topology_svg(world, verdicts), fmt::format("topology{}", index + 1), {},
                    "Topology: " + world.title,
                    fmt::format("{} hosts, {}, {} outliers; all rates stand in the heat maps",
                                world.ranks, kind, verdicts.list.size()));
  if (!svg) return;
  const auto figure = html.in("figure", {{"class", "topology"}});
  html.svg(*svg);
}

void write_world(Page& page, const LinkWorld& world, size_t index, HtmlWriter& html) {
  html.element("h3", world.title);
  Document verdicts;
  add_link_verdicts(world, verdicts);
  write_document(verdicts, page.rows, html);
  if (world.ranks > kMostColumns) {
    write_note(
        fmt::format("Matrices of {0} x {0} are left out here: plumbline report links", world.ranks),
        html);
  } else {
    write_note("From row to column; orange is what should be looked at.", html);
    const auto columns = html.in("div", {{"class", "columns"}});
    write_topology(world, index, html);
    for (size_t i = 0; i < std::min(world.grids.size(), page.limits.heat_maps); ++i) {
      write_heat_map(world, world.grids[i], html);
    }
  }
  if (world.grids.size() > page.limits.heat_maps) {
    write_note(fmt::format("{} more matrices: plumbline report links",
                           world.grids.size() - page.limits.heat_maps),
               html);
  }
  Document details;
  add_link_details(world, details);
  write_document(details, page.rows, html);
}

bool always(const Page& /*page*/) { return true; }

constexpr PageSection kSections[] = {
    {"verdict", "Verdict", always, write_verdict},
    {"links", "Links", has_links, write_links},
    {"latency", "Latency", has_cells<CellKind::kLatency>, write_latency},
    {"bandwidth", "Bandwidth", has_cells<CellKind::kBandwidth>, write_bandwidth},
    {"throughput", "Throughput", has_cells<CellKind::kThroughput>, write_throughput},
    {"serving", "Serving", has_cells<CellKind::kEndpoint>, write_cells<CellKind::kEndpoint>},
    {"work", "Work", has_work, write_work},
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

bool has_links(const Page& page) {
  return !page.worlds.empty() || !links_without_results(*page.view).empty();
}

void write_links(Page& page, HtmlWriter& html) {
  Document missing;
  std::vector<std::string> lines = links_without_results(*page.view);
  if (!lines.empty()) missing.heading(1, "Links without results");
  if (lines.size() > page.limits.listed) lines.resize(page.limits.listed);
  missing.list(std::move(lines));
  write_document(missing, page.rows, html);
  for (size_t i = 0; i < std::min(kMostWorlds, page.worlds.size()); ++i) {
    write_world(page, page.worlds[i], i, html);
  }
  if (page.worlds.size() > kMostWorlds) {
    write_note(fmt::format("{} more sets of hosts: plumbline report links",
                           page.worlds.size() - kMostWorlds),
               html);
  }
}

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
