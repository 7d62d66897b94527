// Pictures as SVG and PNG, drawn by gnuplot, with data and script beside them.
#include <array>
#include <filesystem>

#include "core/requirement.h"
#include "reports/draw.h"
#include "reports/picture.h"
#include "reports/report.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

Expected<std::vector<std::string>> write(const ReportInput& input, const ReportTarget& target) {
  if (target.directory.empty()) {
    return fail(ErrorCode::kUsage, "the plots report needs a folder to write into");
  }
  static constexpr std::array kNeeds = {"gnuplot"};
  if (const auto reason = unmet(kNeeds)) {
    return fail(ErrorCode::kUnsupported, "no plots: " + *reason);
  }
  const View view = make_view(input.records);
  std::vector<std::string> written;
  const std::vector<Picture> pictures = plan_pictures(view);
  if (pictures.empty()) return written;
  const fs::path folder = target.directory;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return fail_errno(ErrorCode::kConfig, "make the folder " + folder.string(), error.value());
  }
  for (const Picture& picture : pictures) {
    if (Status status = draw_files(folder.string(), picture.name, data_text(picture),
                                   script_text(picture), written);
        !status) {
      return fail(status.error());
    }
  }
  return written;
}

}  // namespace

ReportRow plots_report() {
  return {{"plots",
           "latency, bus bandwidth and throughput as SVG and PNG, with data and gnuplot script",
           {"gnuplot"},
           {},
           ""},
          "plots/",
          write};
}

}  // namespace plumbline
