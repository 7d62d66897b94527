#include "reports/charts/draw.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/shell_words.h"
#include "core/text_file.h"
#include "reports/charts/gnuplot_pipe.h"
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
                              shell_word(folder.string()) + " && gnuplot >/dev/null 2>" +
                              shell_word(log.filename().string()) + "; exit 0";
  if (Status status = pipe_to(command, "load '" + name + ".gp'\n"); !status) return status;
  if (has_content(folder / (name + ".svg")) && has_content(folder / (name + ".png"))) return {};
  return fail(ErrorCode::kSystem, "gnuplot could not draw " + name + ": " + first_line_of(log),
              "try it by hand: cd " + shell_word(folder.string()) + " && gnuplot " + name + ".gp");
}

}  // namespace

std::string gnuplot_literal(std::string_view text, size_t columns) {
  const std::string safe = clean(text);
  std::string out = "'";
  for (const char c : fit(safe, std::min(columns, display_width(safe)), true)) {
    out += c == '\'' ? std::string("''") : std::string(1, c);
  }
  return out + "'";
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

}  // namespace plumbline
