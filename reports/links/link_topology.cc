
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "core/file.h"
#include "core/record/link.h"
#include "reports/charts/draw.h"
#include "reports/charts/heat_map.h"
#include "reports/charts/network_drawing.h"
#include "reports/links/link_view.h"
#include "reports/report.h"
#include "reports/text.h"

namespace plumbline {
namespace {

bool concerns(const LinkVerdict& verdict, int a, int b) {
  if (verdict.from == verdict.to) {
    return verdict.from < 0 || verdict.from == a || verdict.from == b;
  }
  if (verdict.from < 0) return verdict.to == a || verdict.to == b;
  if (verdict.to < 0) return verdict.from == a || verdict.from == b;
  return std::minmax(verdict.from, verdict.to) == std::minmax(a, b);
}

NetworkDrawing drawing_of(const LinkWorld& world, const LinkVerdicts& verdicts) {
  const std::vector<bool> direct = world.direct();
  const LinkGrid* rates = rate_grid(world);
  NetworkDrawing out;
  out.title = world.title;
  out.shape = classify_topology(direct, world.ranks);
  out.labels = "rate of the slower direction";
  out.names = world.names;
  for (int a = 0; a < world.ranks; ++a) {
    for (int b = a + 1; b < world.ranks; ++b) {
      const auto there = pair_index(world.ranks, a, b);
      const auto back = pair_index(world.ranks, b, a);
      DrawnEdge edge{a, b, "", !direct[there], false};
      std::optional<double> slower;
      if (rates != nullptr) {
        for (const size_t index : {there, back}) {
          const auto& value = rates->values[index];
          if (value && (!slower || *value < *slower)) slower = value;
        }
      }
      if (edge.dashed && !slower) continue;
      edge.label = grid_text(LinkUnit::kRate, slower);
      edge.bad = std::any_of(verdicts.list.begin(), verdicts.list.end(),
                             [&](const LinkVerdict& v) { return concerns(v, a, b); });
      out.edges.push_back(std::move(edge));
    }
  }
  return out;
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

std::string topology_dot(const LinkWorld& world, const LinkVerdicts& verdicts) {
  return network_dot(drawing_of(world, verdicts));
}

std::string topology_svg(const LinkWorld& world, const LinkVerdicts& verdicts) {
  return network_svg(drawing_of(world, verdicts));
}

ReportRow links_report() {
  return {{"links",
           "link matrix: heat maps, outliers, ring orders, topology (links.md, SVG, PNG, DOT)"},
          "links/",
          write_links};
}

}  // namespace plumbline
