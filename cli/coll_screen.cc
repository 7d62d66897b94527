#include "cli/coll_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/plain_caller.h"
#include "core/split.h"
#include "core/stats/stats.h"
#include "core/units.h"
#include "reports/coll_table.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// -a: whose time the column `time` is.
constexpr const char* kTimes[] = {"rank 0", "mean over the ranks", "fastest rank", "slowest rank"};

double time_of(const Measurement& measurement, int average) {
  std::vector<double> means;  // by rank
  for (const PerRank& rank : measurement.per_rank) means.push_back(rank.mean.value_or(0));
  if (means.empty()) return 0;
  const auto [low, high] = std::minmax_element(means.begin(), means.end());
  double sum = 0;
  for (const double mean : means) sum += mean;
  const double choices[] = {means.front(), sum / static_cast<double>(means.size()), *low, *high};
  return choices[average];
}

NcclRow empty_row(const CollSweep& sweep, const Cell& cell) {
  const auto dtype = dtype_from(cell.dtype);
  const auto redop = redop_from(cell.redop);  // "none" of an operation that reduces nothing
  NcclRow line;
  line.size = cell.bytes;
  line.count = cell.count;
  line.type = dtype ? row(*dtype).nccl_name : cell.dtype;
  line.redop = row(sweep.op).reduces && redop ? row(*redop).nccl_name : "none";
  line.root = cell.root;
  line.arrays = cell.arrays;
  return line;
}

}  // namespace

CollScreen::CollScreen(const CollSweep& sweep, const OptionSet& options, CollOutput output,
                       Context& context, std::optional<RecordFile> file)
    : PlainCaller(*context.err),
      sweep_(sweep),
      options_(options),
      output_(output),
      context_(context),
      file_(std::move(file)),
      writer_(make_writer()) {}

std::unique_ptr<CollWriter> CollScreen::make_writer() const {
  if (output_ != CollOutput::kTable) return std::make_unique<NcclWriter>(*context_.out);
  const OpRow& op = row(sweep_.op);
  CollTableSpec spec;
  spec.op = op.name;
  spec.ranks = sweep_.ranks;
  for (const DType dtype : sweep_.dtypes) spec.types.emplace_back(row(dtype).nccl_name);
  for (const RedOp redop : sweep_.redops) {
    if (op.reduces) spec.redops.emplace_back(row(redop).nccl_name);
  }
  for (const int root : sweep_.roots) {
    if (op.rooted) spec.roots.push_back(std::to_string(root));
  }
  for (const int arrays : sweep_.arrays) spec.arrays.push_back(std::to_string(arrays));
  spec.time = kTimes[sweep_.average];
  spec.in_place = op.has_in_place;
  spec.moves_data = sweep_.max_bytes > 0 && sweep_.op != Op::kBarrier;
  spec.checked = sweep_.count.verified;
  const auto samples = static_cast<uint64_t>(sweep_.count.iterations);
  spec.enough_for_ci = median_ci_ranks(samples).has_value();
  spec.enough_for_p99 = quantile_supported(samples, 0.99);
  spec.width = context_.width;
  spec.colour = context_.out_colour;
  return std::make_unique<CollTable>(*context_.out, std::move(spec));
}

void CollScreen::progress(const RunProgress& state) {
  if (state.ranks != nullptr) return begin(*state.ranks);
  if (state.over) return end();
  if (state.current != nullptr) begin_cell(state);
  if (state.last != nullptr) end_cell(*state.last);
}

NcclSetup CollScreen::setup(const std::vector<RankSeat>& seats) const {
  NcclSetup setup;
  setup.program = nccl_program(to_string(sweep_.op));
  setup.algorithm = options_.text("algorithm");
  setup.transport = options_.text("transport");
  if (setup.transport == "auto" && !seats.empty() && !seats.front().transport.empty()) {
    setup.transport = seats.front().transport;
  }
  setup.compression = compression_of(options_);
  setup.split = sweep_.split;
  setup.min_bytes = sweep_.min_bytes;
  setup.max_bytes = sweep_.max_bytes;
  setup.step_is_factor = sweep_.step_bytes == 0;
  setup.step = setup.step_is_factor ? static_cast<uint64_t>(sweep_.factor) : sweep_.step_bytes;
  setup.warmup_iterations = sweep_.count.warmup;
  setup.iterations = sweep_.count.iterations;
  setup.aggregate = sweep_.count.aggregate;
  setup.validation = sweep_.count.verified ? 1 : 0;
  return setup;
}

void CollScreen::begin(const std::vector<RankSeat>& seats) {
  if (records_only()) return;
  const Split split = parse_split(sweep_.split).value_or(Split{});
  std::vector<NcclDevice> devices;
  for (const RankSeat& seat : seats) {
    const auto rank = static_cast<int>(devices.size());
    devices.push_back(
        {rank, colour_of(split, rank), seat.pid, seat.host, 0, seat.interface, seat.address});
  }
  writer_->preamble(setup(seats), devices);
  for (const std::string& note : sweep_.notes) writer_->comment(note);
  if (measures_again(sweep_, output_)) {
    writer_->comment(fmt::format("{} has no in-place form: those columns repeat it, not checked",
                                 to_string(sweep_.op)));
  }
  writer_->header();
}

void CollScreen::begin_cell(const RunProgress& state) {
  if (output_ == CollOutput::kNccl) tell_arrays(state.current->cell.arrays);
  if (output_ != CollOutput::kTable || sweep_.cycles == 1) return;
  const size_t cells = state.total / static_cast<size_t>(sweep_.cycles);
  if (state.done % cells != 0) return;
  writer_->comment(fmt::format("Cycle {} of {}", state.done / cells + 1, sweep_.cycles));
}

// nccl-tests' columns have no place for it: a line before the rows that it is about.
void CollScreen::tell_arrays(int arrays) {
  if (std::exchange(arrays_told_, arrays) != arrays) {
    writer_->comment(fmt::format("{} {}", kNcclArrays, arrays));
  }
}

void CollScreen::end_cell(const Record& record) {
  const bool second = row_.has_value();
  const bool again = second && measures_again(sweep_, output_);
  const std::optional<NcclSide> side = side_of(record, again);
  if (second) {
    row_->in = side;
  } else {
    row_ = empty_row(sweep_, record.cell);
    row_->out = side;
  }
  const bool two = row(sweep_.op).has_in_place || measures_again(sweep_, output_);
  if (second || !two) finish_row();
}

// Nothing where the cell could not be measured. `again`: the same once more, for the in-place
// columns; no record, so that those that are kept do not depend on the format.
std::optional<NcclSide> CollScreen::side_of(const Record& record, bool again) {
  if (record.measurement.outcome == Outcome::kError) {
    if (record.measurement.cause == kWrongDataCause) writer_->spoiled();
    *context_.err << "plumbline: " << record.cell.op << " " << record.cell.bytes
                  << " bytes: " << record.measurement.reason << "\n";
    return std::nullopt;
  }
  if (record.measurement.outcome == Outcome::kSkipped) {
    if (!records_only() && !std::exchange(skip_told_, true)) {
      writer_->comment(record.measurement.reason);
    }
    if (!again) keep(record);
    return std::nullopt;
  }
  sum_up(record);
  if (!again) keep(record);
  const double ns = time_of(record.measurement, sweep_.average);
  NcclSide side;
  side.time_us = ns / 1e3;
  side.algbw = algbw_Bps(sweep_.op, record.cell.bytes, ns) / 1e9;
  side.busbw = busbw_Bps(sweep_.op, group_ranks(record.cell), record.cell.bytes, ns) / 1e9;
  if (sweep_.count.verified && !again) side.wrong = record.measurement.wrong;
  if (record.time_ns.p50) side.p50_us = *record.time_ns.p50 / 1e3;
  if (record.time_ns.p50_ci95) {
    side.ci_low_us = record.time_ns.p50_ci95->first / 1e3;
    side.ci_high_us = record.time_ns.p50_ci95->second / 1e3;
  }
  if (record.time_ns.p99) side.p99_us = *record.time_ns.p99 / 1e3;
  return side;
}

void CollScreen::keep(const Record& record) {
  if (records_only()) *context_.out << lines_.text_of(record) << std::flush;
  if (!file_) return;
  if (const Status kept = file_->append(record); !kept) usage_failure(context_, kept.error());
}

void CollScreen::sum_up(const Record& record) {
  if (const auto count = verified_count(record.measurement)) {
    verified_.verified += count->verified;
    verified_.operations += count->operations;
  }
  if (sweep_.sync != "window") return;
  const auto value = [&](const char* name) {
    const auto found = record.measurement.extra.find(name);
    return found == record.measurement.extra.end() ? 0.0 : found->second;
  };
  clock_error_ns_ = std::max(clock_error_ns_, value(kClockError));
  late_ += static_cast<uint64_t>(value(kLateSamples));
}

void CollScreen::finish_row() {
  if (!records_only()) writer_->row(*row_);
  row_.reset();
}

void CollScreen::end() {
  if (records_only()) return;
  if (row_ && interrupts() == 0) finish_row();  // its ranks cannot be started again
  if (sweep_.count.verified && verified_.operations > 0) {
    writer_->verified(verified_.verified, verified_.operations);
  }
  if (sweep_.sync == "window" && output_ == CollOutput::kTable) {
    writer_->comment(fmt::format("Clocks known to {}, {} late samples dropped",
                                 format_duration(clock_error_ns_), late_));
  } else if (sweep_.sync == "window") {
    writer_->comment(fmt::format("Clock error at most   : {:.2f} us, late samples dropped : {}",
                                 clock_error_ns_ / 1000, late_));
  }
  writer_->footer();
  context_.out->flush();
}

}  // namespace plumbline
