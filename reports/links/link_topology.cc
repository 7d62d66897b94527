
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <set>
#include <sstream>

#include "core/file.h"
#include "core/record/link.h"
#include "reports/charts/draw.h"
#include "reports/charts/heat_map.h"
#include "reports/links/link_view.h"
#include "reports/report.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr double kNodeWidth = 110, kNodeHeight = 34, kMargin = 90;  // pixels
constexpr double kLeastRadius = 130, kRadiusPerHost = 26;
constexpr const char* kGood = "#0072B2";
constexpr const char* kBad = "#D55E00";

struct Edge {
  int a = 0, b = 0;
  bool direct = false, bad = false;
  std::string label;  // slower direction
};

struct Place {
  double x = 0, y = 0;
};

bool concerns(const LinkVerdict& verdict, int a, int b) {
  if (verdict.from == verdict.to) {
    return verdict.from < 0 || verdict.from == a || verdict.from == b;
  }
  if (verdict.from < 0) return verdict.to == a || verdict.to == b;
  if (verdict.to < 0) return verdict.from == a || verdict.from == b;
  return std::minmax(verdict.from, verdict.to) == std::minmax(a, b);
}

std::vector<Edge> edges_of(const LinkWorld& world, const LinkVerdicts& verdicts) {
  const std::vector<bool> direct = world.direct();
  const LinkGrid* rates = rate_grid(world);
  std::vector<Edge> edges;
  for (int a = 0; a < world.ranks; ++a) {
    for (int b = a + 1; b < world.ranks; ++b) {
      const auto there = pair_index(world.ranks, a, b);
      const auto back = pair_index(world.ranks, b, a);
      Edge edge{a, b, direct[there], false, ""};
      std::optional<double> slower;
      if (rates != nullptr) {
        for (const size_t index : {there, back}) {
          const auto& value = rates->values[index];
          if (value && (!slower || *value < *slower)) slower = value;
        }
      }
      if (!edge.direct && !slower) continue;
      edge.label = grid_text(LinkUnit::kRate, slower);
      edge.bad = std::any_of(verdicts.list.begin(), verdicts.list.end(),
                             [&](const LinkVerdict& v) { return concerns(v, a, b); });
      edges.push_back(std::move(edge));
    }
  }
  return edges;
}

std::string dot_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : clean(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// The centre of a star in the middle, everybody else on a circle.
std::vector<Place> seats_of(const LinkWorld& world, double radius, double centre) {
  const std::vector<bool> direct = world.direct();
  int middle = -1;
  if (classify_topology(direct, world.ranks) == "star") {
    for (int rank = 0; rank < world.ranks; ++rank) {
      int degree = 0;
      for (int other = 0; other < world.ranks; ++other) {
        degree += direct[pair_index(world.ranks, rank, other)] ? 1 : 0;
      }
      if (degree == world.ranks - 1) middle = rank;
    }
  }
  const int around = world.ranks - (middle >= 0 ? 1 : 0);
  std::vector<Place> places;
  int seat = 0;
  for (int rank = 0; rank < world.ranks; ++rank) {
    if (rank == middle) {
      places.push_back({centre, centre});
      continue;
    }
    const double angle = 2 * std::numbers::pi * seat++ / std::max(1, around) - std::numbers::pi / 2;
    places.push_back({centre + radius * std::cos(angle), centre + radius * std::sin(angle)});
  }
  return places;
}

std::string svg_text(double x, double y, const std::string& text, const char* colour, int size) {
  // Twice: a white outline first keeps the text readable over lines.
  const std::string written = escape_markup(text);
  const auto element = [&](const std::string& look) {
    return fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-family=\"DejaVu Sans, "
        "sans-serif\" font-size=\"{}\" {}>{}</text>\n",
        x, y + size * 0.35, size, look, written);
  };
  return element("fill=\"#FFFFFF\" stroke=\"#FFFFFF\" stroke-width=\"4\"") +
         element(fmt::format("fill=\"{}\"", colour));
}

namespace fs = std::filesystem;

// "stream" in the first world, "stream_2" in the second.
std::string numbered(const std::string& word, size_t world) {
  return world == 0 ? word : word + "_" + std::to_string(world + 1);
}

Status write_graph(const LinkWorld& world, size_t index, const fs::path& folder,
                   std::vector<std::string>& written) {
  const LinkVerdicts verdicts = judge_world(world);
  const std::string stem = (folder / numbered("topology", index)).string();
  for (const auto& [ending, text] : {std::pair(".dot", topology_dot(world, verdicts)),
                                     std::pair(".svg", topology_svg(world, verdicts))}) {
    if (const Status done = write_text_file(stem + ending, text); !done) return done;
    written.push_back(stem + ending);
  }
  return {};
}

Status draw_grids(const LinkWorld& world, size_t index, const fs::path& folder, FileNames& names,
                  Document& document, std::vector<std::string>& written) {
  for (const LinkGrid& grid : world.grids) {
    const std::string name = names.take(numbered(grid.name, index));
    const Status drawn = draw_files(folder.string(), name, heat_map_data(world, grid),
                                    heat_map_script(world, grid, name), written);
    if (!drawn) return drawn;
    document.picture(grid.title + ", " + world.title, name + ".svg");
  }
  return {};
}

Expected<std::vector<std::string>> write_links(const ReportInput& input,
                                               const ReportTarget& target) {
  if (target.directory.empty()) {
    return fail(ErrorCode::kUsage, "the links report needs a folder to write into");
  }
  const View view = make_view(input.records);
  const std::vector<LinkWorld> worlds = link_worlds(view);
  std::vector<std::string> written;
  if (worlds.empty()) return written;
  const fs::path folder = target.directory;
  if (const Status made = make_report_folder(target.directory); !made) return fail(made.error());
  Document document;
  FileNames names;
  add_links(view, document);
  const auto missing = no_gnuplot();
  document.heading(1, "Pictures");
  if (missing) document.paragraph("No heat maps: " + *missing, Tone::kWarn);
  for (size_t i = 0; i < worlds.size(); ++i) {
    Status done = write_graph(worlds[i], i, folder, written);
    document.picture("Topology, " + worlds[i].title, numbered("topology", i) + ".svg");
    if (done && !missing) done = draw_grids(worlds[i], i, folder, names, document, written);
    if (!done) return fail(done.error());
  }
  std::ostringstream text;
  render_markdown(document, text);
  const std::string page = (folder / "links.md").string();
  if (const Status done = write_text_file(page, text.str()); !done) return fail(done.error());
  written.push_back(page);
  return written;
}

}  // namespace

std::string classify_topology(const std::vector<bool>& direct, int ranks) {
  std::vector<int> degree(static_cast<size_t>(ranks), 0);
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < ranks; ++b) {
      if (a != b && direct[pair_index(ranks, a, b)]) ++degree[static_cast<size_t>(a)];
    }
  }
  const auto with = [&](int wanted) {
    return static_cast<int>(std::count(degree.begin(), degree.end(), wanted));
  };
  if (ranks >= 2 && with(ranks - 1) == ranks) return "mesh";
  if (ranks >= 3 && with(ranks - 1) == 1 && with(1) == ranks - 1) return "star";
  if (ranks < 4 || with(2) != ranks) return "other";
  // Two neighbours each: one ring, or several that do not touch.
  std::set<int> reached = {0};
  for (int at = 0, before = -1;;) {
    int next = -1;
    for (int b = 0; b < ranks; ++b) {
      if (b != before && b != at && direct[pair_index(ranks, at, b)]) next = b;
    }
    before = at;
    at = next;
    if (at < 0 || !reached.insert(at).second) break;
  }
  return static_cast<int>(reached.size()) == ranks ? "ring" : "other";
}

std::string topology_dot(const LinkWorld& world, const LinkVerdicts& verdicts) {
  std::string out = fmt::format("// {}: {}\ngraph links {{\n  layout=circo;\n", clean(world.title),
                                classify_topology(world.direct(), world.ranks));
  out += "  node [shape=box, style=rounded, fontname=\"DejaVu Sans\"];\n";
  out += "  edge [fontname=\"DejaVu Sans\", fontsize=10];\n";
  for (int rank = 0; rank < world.ranks; ++rank) {
    out += fmt::format("  r{} [label={}];\n", rank,
                       dot_quoted(world.names[static_cast<size_t>(rank)]));
  }
  for (const Edge& edge : edges_of(world, verdicts)) {
    out += fmt::format("  r{} -- r{} [label={}, color=\"{}\"{}];\n", edge.a, edge.b,
                       dot_quoted(edge.label), edge.bad ? kBad : kGood,
                       edge.direct ? "" : ", style=dashed");
  }
  return out + "}\n";
}

std::string topology_svg(const LinkWorld& world, const LinkVerdicts& verdicts) {
  const double radius = std::max(kLeastRadius, kRadiusPerHost * world.ranks);
  const double centre = radius + kMargin, side = 2 * centre;
  const std::vector<Place> places = seats_of(world, radius, centre);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n",
      side, side + 40);
  out += svg_text(centre, 24,
                  fmt::format("{}: {}; rate of the slower direction",
                              classify_topology(world.direct(), world.ranks), world.title),
                  "#000000", 14);
  out += "<g transform=\"translate(0,30)\">\n";
  std::string labels;
  for (const Edge& edge : edges_of(world, verdicts)) {
    const Place& a = places[static_cast<size_t>(edge.a)];
    const Place& b = places[static_cast<size_t>(edge.b)];
    out += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{}\"{}/>\n",
        a.x, a.y, b.x, b.y, edge.bad ? kBad : kGood, edge.bad ? 4 : 2,
        edge.direct ? "" : " stroke-dasharray=\"6 4\"");
    // Off the middle, where diagonals cross.
    labels += svg_text(a.x * 0.62 + b.x * 0.38, a.y * 0.62 + b.y * 0.38, edge.label,
                       edge.bad ? kBad : "#333333", 11);
  }
  out += labels;
  for (int rank = 0; rank < world.ranks; ++rank) {
    const Place& at = places[static_cast<size_t>(rank)];
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"#F4F4F4\" "
        "stroke=\"#333333\"/>\n",
        at.x - kNodeWidth / 2, at.y - kNodeHeight / 2, kNodeWidth, kNodeHeight);
    const std::string& name = world.names[static_cast<size_t>(rank)];
    out += svg_text(at.x, at.y, cut(name, 14), "#000000", 13);
  }
  return out + "</g>\n</svg>\n";
}

ReportRow links_report() {
  return {{"links",
           "link matrix: heat maps, outliers, ring orders, topology (links.md, SVG, PNG, DOT)"},
          "links/",
          write_links};
}

}  // namespace plumbline
