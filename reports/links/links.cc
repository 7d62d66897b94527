// The report `links`: a folder with the matrices as text and heat maps, and the topology as graph.
#include <array>
#include <filesystem>
#include <sstream>

#include "core/file_word.h"
#include "core/host/requirement.h"
#include "core/text_file.h"
#include "reports/charts/draw.h"
#include "reports/charts/heat_map.h"
#include "reports/links/link_tables.h"
#include "reports/links/link_topology.h"
#include "reports/report.h"

namespace plumbline {
namespace {

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
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return fail_errno(ErrorCode::kConfig, "make the folder " + folder.string(), error.value());
  }
  Document document;
  FileNames names;
  add_links(view, document);
  static constexpr std::array kNeeds = {"gnuplot"};
  const auto no_gnuplot = unmet(kNeeds);
  document.heading(1, "Pictures");
  if (no_gnuplot) document.paragraph("No heat maps: " + *no_gnuplot, Tone::kWarn);
  for (size_t i = 0; i < worlds.size(); ++i) {
    Status done = write_graph(worlds[i], i, folder, written);
    document.picture("Topology, " + worlds[i].title, numbered("topology", i) + ".svg");
    if (done && !no_gnuplot) done = draw_grids(worlds[i], i, folder, names, document, written);
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

ReportRow links_report() {
  return {{"links",
           "link matrix: heat maps, outliers, ring orders, topology (links.md, SVG, PNG, DOT)",
           {},
           {},
           ""},
          "links/",
          write_links};
}

}  // namespace plumbline
