#include "reports/charts/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <sstream>

#include "core/file.h"
#include "core/host/requirement.h"
#include "core/shell_words.h"
#include "reports/charts/view_charts.h"
#include "reports/report.h"
#include "reports/text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostLog = 16 << 20;
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
                              shell_word(folder.string()) + " && gnuplot >/dev/null 2>" +
                              shell_word(log.filename().string()) + "; exit 0";
  if (Status status = pipe_to(command, "load '" + name + ".gp'\n"); !status) return status;
  if (has_content(folder / (name + ".svg")) && has_content(folder / (name + ".png"))) return {};
  return fail(ErrorCode::kSystem,
              "gnuplot could not draw " + name + ": " +
                  first_complaint(read_input_file(log.string(), kMostLog).value_or("")),
              "try it by hand: cd " + shell_word(folder.string()) + " && gnuplot " + name + ".gp");
}

Expected<std::vector<std::string>> write_plots(const ReportInput& input,
                                               const ReportTarget& target) {
  if (target.directory.empty()) {
    return fail(ErrorCode::kUsage, "the plots report needs a folder to write into");
  }
  if (const auto reason = no_gnuplot()) {
    return fail(ErrorCode::kUnsupported, "no plots: " + *reason);
  }
  const View view = make_view(input.records);
  std::vector<std::string> written;
  const std::vector<Chart> charts = plot_charts(view);
  if (charts.empty()) return written;
  if (const Status made = make_report_folder(target.directory); !made) return fail(made.error());
  for (const Chart& chart : charts) {
    const Status status =
        draw_files(target.directory, chart.name, chart_data(chart), chart_script(chart), written);
    if (!status) return fail(status.error());
  }
  return written;
}

}  // namespace

std::optional<std::string> no_gnuplot() {
  static constexpr std::array kNeeds = {"gnuplot"};
  return unmet(kNeeds);
}

Status make_report_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return {};
  return fail_errno(ErrorCode::kConfig, "make the folder " + folder, error.value());
}

std::string script_head(const std::string& name) {
  return fmt::format("# Run in this folder: gnuplot {0}.gp\ndata = '{0}.dat'\nset encoding utf8\n",
                     name);
}

std::string script_title(std::string_view first, std::string_view second, size_t columns) {
  return fmt::format("set title {}.\"\\n\".{} noenhanced\n", gnuplot_literal(first, columns),
                     gnuplot_literal(second, columns));
}

std::string script_tail(const std::string& name, const std::string& plot, int width, int height,
                        int letters) {
  return fmt::format(
      "set terminal svg size {1},{2} font 'DejaVu Sans,{3}' background '#FFFFFF' noenhanced\n"
      "set output '{0}.svg'\n{5}"
      "set terminal pngcairo size {1},{2} font 'DejaVu Sans,{4}' noenhanced\n"
      "set output '{0}.png'\nreplot\nunset output\n",
      name, width, height, letters, letters - 2, plot);
}

std::string first_complaint(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t^") != std::string::npos) return clean(line);
  }
  return "no message";
}

Status draw_files(const std::string& directory, const std::string& name, const std::string& data,
                  const std::string& script, std::vector<std::string>& written) {
  const fs::path folder = directory;
  const fs::path log = folder / (name + ".log");
  std::vector<fs::path> files;
  for (const char* ending : {".dat", ".gp", ".svg", ".png"}) {
    files.push_back(folder / (name + ending));
  }
  std::error_code ignored;
  fs::remove(files[2], ignored);  // an old picture must not pass for a new one
  fs::remove(files[3], ignored);
  Status status = write_text_file(files[0].string(), data);
  if (status) status = write_text_file(files[1].string(), script);
  if (status) status = run_gnuplot(folder, name, log);
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

ReportRow plots_report() {
  return {
      {"plots",
       "lines over size, tails, ranks, times in order, shares of the roof: SVG, PNG, data, script",
       {"gnuplot"}},
      "plots/",
      write_plots};
}

}  // namespace plumbline
