#include "cli/coll_sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/number.h"
#include "core/split.h"
#include "core/text.h"
#include "core/units.h"
#include "runs/ranks/rank_places.h"

namespace plumbline {
namespace {

constexpr int kMaxRanks = 1024;

// Collects what is wrong instead of stopping at the first.
class Reader {
 public:
  explicit Reader(const Args& args) : args_(args) {}

  // Long names are the keys; `letter` is for messages.
  void number(const char* key, const char* letter, int low, int high, int& value) {
    take(key, letter, low, high, parse_whole(args_.get(key), low, high), value);
  }
  void number(const char* key, const char* letter, double low, double high, double& value) {
    take(key, letter, low, high, parse_decimal(args_.get(key)), value);
  }

  void size(const char* key, const char* letter, uint64_t& value) {
    if (!args_.has(key)) return;
    const Expected<uint64_t> parsed = parse_bytes_nccl(args_.get(key));
    if (parsed) {
      value = *parsed;
    } else {
      add(fmt::format("{}: {}", letter, parsed.error().what), parsed.error().hint);
    }
  }

  void add(std::string what, std::string hint) {
    errors.push_back({ErrorCode::kUsage, std::move(what), 0, std::move(hint), ""});
  }

  std::vector<Error> errors;

 private:
  template <typename T>
  void take(const char* key, const char* letter, T low, T high, std::optional<T> parsed, T& value) {
    if (!args_.has(key)) return;
    if (parsed && *parsed >= low && *parsed <= high) {
      value = *parsed;
    } else {
      add(fmt::format("{} '{}' is not a number from {} to {}", letter, args_.get(key), low, high),
          "");
    }
  }

  const Args& args_;
};

// Every name of a table, or the one asked for; "all" gives all.
template <typename Row, typename Value>
std::vector<Value> choose(const std::string& text, std::span<const Row> table, Value Row::*member,
                          const char* letter, Reader& reader) {
  std::vector<Value> chosen;
  std::vector<std::string> names = {"all"};
  for (const Row& row : table) {
    if (text == "all" || text == row.name || text == row.nccl_name) chosen.push_back(row.*member);
    names.emplace_back(row.nccl_name);
  }
  if (chosen.empty()) {
    reader.add(fmt::format("{} '{}' is unknown", letter, text),
               near_or(text, names, fmt::format("choose from {}", fmt::join(names, ", "))));
  }
  return chosen;
}

void note_left_out(CollSweep& sweep) {
  for (const DType dtype : sweep.dtypes) {
    for (const RedOp redop : sweep.redops) {
      if (!sweep.leaves_out(dtype, redop)) continue;
      sweep.notes.push_back("left out: " + reduction_unsupported(dtype, redop));
    }
  }
}

void read_roots(const Args& args, CollSweep& sweep, Reader& reader) {
  const std::string text = args.get("root", "0");
  if (!row(sweep.op).rooted) {
    sweep.roots = {-1};
    return;
  }
  Cell cell;
  cell.ranks = sweep.ranks;
  cell.split = sweep.split;
  const int ranks = group_ranks(cell);
  if (text == "all") {
    for (int rank = 0; rank < ranks; ++rank) sweep.roots.push_back(rank);
    return;
  }
  int root = 0;
  reader.number("root", "-r", 0, ranks - 1, root);
  sweep.roots = {root};
}

void read_split(const Args& args, CollSweep& sweep, Reader& reader) {
  const Expected<Split> split = parse_split(args.get("split"));
  if (!split) return reader.add("--split: " + split.error().what, split.error().hint);
  if (*split) sweep.split = to_string(*split);
}

// "1,64"
void read_arrays(const Args& args, CollSweep& sweep, Reader& reader) {
  if (!args.has("arrays")) return;
  sweep.arrays.clear();
  const std::string text = args.get("arrays");
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    const std::optional<int> number = parse_whole(word, 1, kMostArrays);
    if (!number) {
      return reader.add(fmt::format("--arrays {}: {} is not a number from 1 to {}", in_quotes(text),
                                    in_quotes(word), kMostArrays),
                        "give one number or several, such as 1,64");
    }
    if (std::find(sweep.arrays.begin(), sweep.arrays.end(), *number) != sweep.arrays.end()) {
      return reader.add(fmt::format("--arrays {} has {} twice", in_quotes(text), *number),
                        "give each number once");
    }
    sweep.arrays.push_back(*number);
  }
}

// Letters of nccl-tests that switch on what is not here (src/common.cu of NVIDIA/nccl-tests):
// taken where they are off, refused in words where they would change what is measured or printed.
struct OffLetter {
  const char* key;
  const char* letter;
  bool any_number;     // it belongs to another letter that is off, so that no value means anything
  const char* reason;  // why it cannot be on; nullptr where any number is taken
  const char* instead;
};
constexpr OffLetter kOffLetters[] = {
    {"cudagraph", "-G", false, "there are no CUDA graphs here",
     "-m repeats an operation without a stop in between"},
    {"stream_null", "-y", false, "there are no CUDA streams here", ""},
    {"local_register", "-R", false, "no memory is registered with NCCL here", ""},
    {"cta_policy", "-x", false, "there are no thread blocks of a GPU here", ""},
    {"device_implementation", "-D", false, "nothing runs on a GPU here", ""},
    {"device_cta_count", "-V", true, nullptr, nullptr},
    {"unalign", "-u", false, "buffers are always aligned here", ""},
    {"memory", "-M", false, "there is no GPU memory to report", ""},
    {"report_cputime", "-C", false, "the column `time` is always the time that passed",
     "records (-J FILE, --json) hold the CPU time of every rank beside it"},
    {"report_timestamps", "-S", false, "the table has no column for it",
     "records (-J FILE, --json) hold the time of each row"},
    {"per_iter_timing", "-I", false, "the table has no columns for it",
     "--format table shows the median and its interval, records (-J FILE, --json) hold the "
     "samples"},
    {"per_iter_skip", "-K", true, nullptr, nullptr},
};

void read_off_letters(const Args& args, Reader& reader) {
  for (const OffLetter& row : kOffLetters) {
    if (!args.has(row.key)) continue;
    const std::string text = args.get(row.key);
    const std::optional<int> value = parse_whole(text, 0, std::numeric_limits<int>::max());
    if (!value) {
      reader.add(fmt::format("{} '{}' is not a whole number from 0 on", row.letter, text), "");
    } else if (*value != 0 && !row.any_number) {
      std::string hint = fmt::format("give {} 0, or leave it out", row.letter);
      if (*row.instead != '\0') hint += fmt::format("; {}", row.instead);
      reader.add(fmt::format("{} {}: {}", row.letter, *value, row.reason), std::move(hint));
    }
  }
}

// Letters of GPU programs: taken where they are harmless, refused in words where they would change
// what is measured.
void read_gpu_letters(const Args& args, CollSweep& sweep, Reader& reader) {
  for (const char* key : {"ngpus", "nthreads"}) {
    const char* letter = key[1] == 'g' ? "-g" : "-t";
    if (args.has(key) && args.get(key) != "1") {
      reader.add(fmt::format("{} {}: ranks are processes here, not GPUs or threads", letter,
                             args.get(key)),
                 fmt::format("use --ranks {}", args.get(key)));
    }
  }
  int blocking = 0;
  reader.number("blocking", "-z", 0, 3, blocking);
  if (args.has("blocking")) sweep.notes.emplace_back("-z: every operation here is waited for");
  int parallel = 0;
  reader.number("parallel_init", "-p", 0, 1, parallel);
  if (args.has("parallel_init")) sweep.notes.emplace_back("-p: ranks always start in parallel");
}

void read_steps(const Args& args, CollSweep& sweep, Reader& reader) {
  reader.size("minbytes", "-b", sweep.min_bytes);
  if (args.has("minbytes") && !args.has("maxbytes") && sweep.min_bytes > sweep.max_bytes) {
    sweep.max_bytes = sweep.min_bytes;
  }
  reader.size("maxbytes", "-e", sweep.max_bytes);
  if (sweep.min_bytes > sweep.max_bytes) {
    reader.add("-b is larger than -e", "give the smallest size with -b and the largest with -e");
  }
  reader.size("stepbytes", "-i", sweep.step_bytes);
  reader.number("stepfactor", "-f", 1.0, 1e9, sweep.factor);
  const bool by_factor = args.has("stepfactor") && sweep.factor > 1;  // -f 1 = off, by default too
  if (args.has("stepbytes") && by_factor) {
    reader.add("-i and -f are both given", "use one of them");
  }
  if (args.has("stepbytes") && sweep.step_bytes == 0) reader.add("-i must be more than 0", "");
  if (!args.has("stepbytes") && !by_factor && sweep.min_bytes < sweep.max_bytes) {
    sweep.step_bytes = 1u << 20;  // nccl-tests' default
  }
  if (sweep.sizes().size() > 10'000) {
    reader.add("the sweep has more than 10000 sizes", "give a larger -i, or -f");
  }
}

}  // namespace

bool CollSweep::leaves_out(DType dtype, RedOp redop) const {
  const bool several = dtypes.size() > 1 || redops.size() > 1;
  return several && row(op).reduces && !reduction_unsupported(dtype, redop).empty();
}

std::vector<uint64_t> CollSweep::sizes() const {
  constexpr size_t kLimit = 10'001;  // one more than parse_coll accepts
  std::vector<uint64_t> all;
  auto size = static_cast<double>(min_bytes);
  while (size <= static_cast<double>(max_bytes) && all.size() < kLimit) {
    const auto whole = static_cast<uint64_t>(size);
    if (all.empty() || whole != all.back()) all.push_back(whole);
    const double next = step_bytes > 0 ? size + static_cast<double>(step_bytes) : size * factor;
    if (!(next > size)) break;
    size = next;
  }
  return all;
}

tl::expected<CollSweep, std::vector<Error>> parse_coll(const Args& args) {
  CollSweep sweep;
  Reader reader(args);
  const std::string name = args.get("operation");
  if (const auto op = op_from(name)) {
    sweep.op = *op;
  } else {
    std::vector<std::string> names;
    for (const OpRow& known : op_table()) names.emplace_back(known.name);
    reader.add("unknown operation '" + name + "'",
               near_or(name, names, fmt::format("choose from {}", fmt::join(names, ", "))));
  }
  read_steps(args, sweep, reader);
  reader.number("iters", "-n", 1, 1'000'000, sweep.count.iterations);
  sweep.iterations_given = args.has("iters");
  reader.number("warmup_iters", "-w", 0, 1'000'000, sweep.count.warmup);
  reader.number("agg_iters", "-m", 1, 1'000'000, sweep.count.aggregate);
  reader.number("run_cycles", "-N", 1, 1'000'000, sweep.cycles);
  reader.number("average", "-a", 0, 3, sweep.average);
  int check = 1;
  reader.number("check", "-c", 0, 1'000'000, check);
  sweep.count.verified = check > 0;
  sweep.cache = args.get("cache", sweep.cache);
  if (sweep.cache != "hot" && sweep.cache != "cold") {
    reader.add("--cache '" + sweep.cache + "' is unknown", "give hot or cold");
  }
  sweep.engine = args.get("engine", sweep.engine);
  sweep.ranks_in_process = args.has(kRanksInProcess);
  sweep.sync = args.get("sync", sweep.sync);
  if (sweep.sync != "none" && sweep.sync != "barrier" && sweep.sync != "window") {
    reader.add("--sync '" + sweep.sync + "' is unknown", "give none, barrier or window");
  }
  constexpr int kTimeoutS = 30;
  int timeout_s = kTimeoutS;
  reader.number("timeout", "-T", 0, 86'400, timeout_s);
  if (timeout_s == 0) {
    timeout_s = kTimeoutS;
    sweep.notes.push_back(
        fmt::format("-T 0: no operation waits forever here, one ends after {} s", kTimeoutS));
  }
  sweep.count.timeout_ms = int64_t{timeout_s} * 1000;
  sweep.format = args.get("format");
  if (args.has("format") && sweep.format != "nccl" && sweep.format != "table") {
    reader.add("--format '" + sweep.format + "' is unknown", "give nccl or table");
  }
  if (args.has("format") && args.has("json")) {
    reader.add("--format and --json are both given", "use one of them: --json prints records");
  }
  sweep.ranks = std::max(2, row(sweep.op).min_ranks);
  reader.number("ranks", "--ranks", row(sweep.op).min_ranks, kMaxRanks, sweep.ranks);
  sweep.dtypes =
      choose(args.get("datatype", "float"), dtype_table(), &DTypeRow::dtype, "-d", reader);
  sweep.redops = choose(args.get("op", "sum"), redop_table(), &RedOpRow::redop, "-o", reader);
  if (!row(sweep.op).reduces) sweep.redops.resize(1);
  note_left_out(sweep);
  read_split(args, sweep, reader);
  read_roots(args, sweep, reader);
  read_arrays(args, sweep, reader);
  read_gpu_letters(args, sweep, reader);
  read_off_letters(args, reader);
  if (!reader.errors.empty()) return tl::unexpected(std::move(reader.errors));
  return sweep;
}

}  // namespace plumbline
