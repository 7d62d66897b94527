// `plumbline lab matrix`: how often is the diagnosis right, and do its remedies heal?

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/plain_caller.h"
#include "core/file.h"
#include "lab/matrix.h"

namespace plumbline {
namespace {

constexpr int64_t kMaxSeed = 999'999'999, kMaxSeeds = 1000, kMaxJobs = 64;

std::string own_program() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  return length > 0 ? std::string(path.data(), static_cast<size_t>(length)) : "plumbline";
}

void say_progress(const CellResult& cell, size_t done, size_t all, Context& context) {
  const bool bad = cell.skipped.empty() && (!cell.right || !cell.error.empty());
  const std::string healed = !cell.remedy_tried ? "" : cell.healed ? ", healed" : ", NOT HEALED";
  *context.err << fmt::format("plumbline: [{}/{}] {} {} (seed {}): {}{}\n", done, all,
                              to_string(cell.cell.kind), cell.cell.name, cell.cell.seed,
                              !cell.skipped.empty() ? "skipped: " + cell.skipped
                              : !cell.error.empty() ? "ERROR: " + cell.error
                              : bad                 ? "WRONG"
                                                    : "right",
                              healed)
               << std::flush;
}

void say_interrupted(Context& context) {
  *context.err << "plumbline: interrupted: doctor is ended and the labs are removed, which takes a "
                  "few seconds; again Ctrl-C ends doctor at once\n"
               << std::flush;
}

Status write_docs(const std::string& file, const char* block, const std::string& generated) {
  std::string text;
  {
    std::ifstream in(file, std::ios::binary);
    text.assign((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  return write_text_file(file, with_generated(text, block, generated));
}

}  // namespace

int lab_matrix_command(const Args& args, Context& context) {
  MatrixOptions options;
  const Expected<int64_t> seed = flag_number(args, "seed", 1, 0, kMaxSeed);
  if (!seed) return usage_failure(context, seed.error());
  const Expected<int64_t> seeds = flag_number(args, "seeds", 1, 1, kMaxSeeds);
  if (!seeds) return usage_failure(context, seeds.error());
  const Expected<int64_t> jobs = flag_number(args, "jobs", 1, 1, kMaxJobs);
  if (!jobs) return usage_failure(context, jobs.error());
  options.seed = static_cast<uint64_t>(*seed);
  options.seeds = static_cast<int>(*seeds);
  options.jobs = static_cast<int>(*jobs);
  // A cell that is asked for by name is meant to be repeated, not multiplied.
  options.zoo_runs = args.has("only") ? options.seeds : std::max(5, options.seeds);
  options.only = args.all("only");
  options.reduced = args.has("reduced");
  options.unprivileged = args.has("unprivileged");
  options.keep = args.get("keep");
  options.program = args.get("program", own_program());
  const Expected<std::vector<MatrixCell>> cells = matrix_cells(options);
  if (!cells) return usage_failure(context, cells.error());
  if (geteuid() != 0) {
    return usage_failure(context, Error{ErrorCode::kUnsupported, "the matrix needs root, for labs",
                                        0, "run it with sudo", ""});
  }
  watch_interrupts();
  std::atomic<bool> told{false};
  options.stop = [&] {
    if (interrupts() > 0 && !told.exchange(true)) say_interrupted(context);
    return std::min(interrupts(), 2);
  };
  options.progress = [&](const CellResult& cell, size_t done, size_t all) {
    say_progress(cell, done, all, context);
  };
  const MatrixResult result = run_matrix(options, *cells);
  *context.out << (args.has("json") ? matrix_json(result)
                                    : matrix_text(result, args.has("verbose")))
               << std::flush;
  if (args.has("docs") && !result.interrupted) {
    const Status written = write_docs(args.get("docs"), docs_block(options), matrix_docs(result));
    if (!written) return usage_failure(context, written.error());
  }
  if (result.interrupted) return 130;
  return summarise(result).all_right() ? 0 : 2;
}

}  // namespace plumbline
