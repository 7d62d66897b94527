// Pictures as SVG and PNG, drawn by gnuplot, with data and script beside them.
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/requirement.h"
#include "reports/gnuplot_pipe.h"
#include "reports/picture.h"
#include "reports/report.h"
#include "reports/text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr int kCpuSeconds = 60;  // a gnuplot that needs more than this is stopped by the kernel

// A gnuplot that ends early would otherwise kill us while we write to its pipe.
class SigpipeIgnored {
 public:
  SigpipeIgnored() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before_);
  }
  ~SigpipeIgnored() { sigaction(SIGPIPE, &before_, nullptr); }
  SigpipeIgnored(const SigpipeIgnored&) = delete;
  SigpipeIgnored& operator=(const SigpipeIgnored&) = delete;

 private:
  struct sigaction before_ = {};
};

Status write_file(const fs::path& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  return fail_errno(ErrorCode::kConfig, "write " + path.string(), errno);
}

std::string first_line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.find_first_not_of(" \t^") != std::string::npos) return clean(line);
  }
  return "no message";
}

bool has_content(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return !error && size > 0;
}

// Runs NAME.gp in `folder`; gnuplot's complaints go to `log`.
Status run_gnuplot(const fs::path& folder, const std::string& name, const fs::path& log) {
  const SigpipeIgnored guard;
  // The outcome is judged by the files; exit 0 keeps gnuplot-iostream from printing its own
  // opinion.
  const std::string command = "ulimit -t " + std::to_string(kCpuSeconds) + "; cd -- " +
                              shell_quote({folder.string()}) + " && gnuplot >/dev/null 2>" +
                              shell_quote({log.filename().string()}) + "; exit 0";
  if (Status status = pipe_to(command, "load '" + name + ".gp'\n"); !status) return status;
  if (has_content(folder / (name + ".svg")) && has_content(folder / (name + ".png"))) return {};
  return fail(
      ErrorCode::kSystem, "gnuplot could not draw " + name + ": " + first_line_of(log),
      "try it by hand: cd " + shell_quote({folder.string()}) + " && gnuplot " + name + ".gp");
}

// Writes the four files of one picture; after an error none of them is left.
Status draw(const fs::path& folder, const Picture& picture, std::vector<std::string>& written) {
  const fs::path log = folder / (picture.name + ".log");
  std::vector<fs::path> files;
  for (const char* ending : {".dat", ".gp", ".svg", ".png"}) {
    files.push_back(folder / (picture.name + ending));
  }
  std::error_code ignored;
  fs::remove(files[2], ignored);  // an old picture must not pass for a new one
  fs::remove(files[3], ignored);
  Status status = write_file(files[0], data_text(picture));
  if (status) status = write_file(files[1], script_text(picture));
  if (status) status = run_gnuplot(folder, picture.name, log);
  fs::remove(log, ignored);
  for (const fs::path& file : files) {
    if (status) {
      written.push_back(file.string());
    } else {
      fs::remove(file, ignored);
    }
  }
  return status;
}

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
    if (Status status = draw(folder, picture, written); !status) return fail(status.error());
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
