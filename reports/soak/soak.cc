// The report `soak`: a folder with the verdict as text and JSON, and a picture per number.
#include <array>
#include <filesystem>
#include <sstream>

#include "core/host/requirement.h"
#include "core/text_file.h"
#include "reports/charts/draw.h"
#include "reports/report.h"
#include "reports/soak/soak_tables.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostPictures = 24;  // those that moved come first

// Draws what moved, then the rest, up to a bound.
Status draw_rounds(const std::vector<SoakVerdict>& verdicts, const fs::path& folder,
                   Document& document, std::vector<std::string>& written) {
  size_t drawn = 0;
  for (const bool moved : {true, false}) {
    for (const SoakVerdict& verdict : verdicts) {
      for (const SoakTrend& trend : verdict.trends) {
        if ((!trend.steps.empty() || trend.drifts()) != moved || trend.rounds == 0) continue;
        if (drawn == kMostPictures) return {};
        const std::string name = "soak_" + std::to_string(++drawn);
        const Status done = draw_files(folder.string(), name, soak_plot_data(trend),
                                       soak_plot_script(trend, *verdict.run, name), written);
        if (!done) return done;
        document.picture(trend.track->what, name + ".svg");
      }
    }
  }
  return {};
}

Expected<std::vector<std::string>> write_soak(const ReportInput& input,
                                              const ReportTarget& target) {
  if (target.directory.empty()) {
    return fail(ErrorCode::kUsage, "the soak report needs a folder to write into");
  }
  std::vector<std::string> written;
  if (input.soaks.empty()) return written;
  const fs::path folder = target.directory;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return fail_errno(ErrorCode::kConfig, "make the folder " + folder.string(), error.value());
  }
  std::vector<SoakVerdict> verdicts;
  Document document;
  for (const SoakRun& run : input.soaks) {
    verdicts.push_back(judge_soak(run));
    add_soak(verdicts.back(), document);
  }
  static constexpr std::array kNeeds = {"gnuplot"};
  document.heading(1, "Pictures");
  if (const auto no_gnuplot = unmet(kNeeds)) {
    document.paragraph("No pictures: " + *no_gnuplot, Tone::kWarn);
  } else if (const Status done = draw_rounds(verdicts, folder, document, written); !done) {
    return fail(done.error());
  }
  std::ostringstream text;
  render_markdown(document, text);
  for (const auto& [name, content] :
       {std::pair("soak.md", text.str()), std::pair("soak.json", soak_json(verdicts))}) {
    const std::string path = (folder / name).string();
    if (const Status done = write_text_file(path, content); !done) return fail(done.error());
    written.push_back(path);
  }
  return written;
}

}  // namespace

ReportRow soak_report() {
  return {{"soak",
           "rounds of run --for: steps, drift, idle time, memory, events (soak.md, JSON, SVG, PNG)",
           {},
           {},
           ""},
          "soak/",
          write_soak};
}

}  // namespace plumbline
