#include "reports/export/nccl.h"

#include <fmt/format.h>

#include <cmath>

#include "core/op.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// Seven characters for times up to 10 s: fewer decimals as the number grows.
std::string nccl_time(double us) {
  if (us >= 10000) return fmt::format("{:7.0f}", us);
  return us >= 100 ? fmt::format("{:7.1f}", us) : fmt::format("{:7.2f}", us);
}

// One word: parsers split at spaces.
std::string word(const std::string& text) {
  std::string out = clean(text);
  for (char& c : out) {
    if (c == ' ') c = '_';
  }
  return out.empty() ? "none" : out;
}

}  // namespace

std::string nccl_program(const std::string& op) {
  if (op == to_string(Op::kAllreduce)) return "all_reduce_perf";
  if (op == to_string(Op::kAllgather)) return "all_gather_perf";
  return op + "_perf";
}

void NcclWriter::preamble(const NcclSetup& setup, const std::vector<NcclDevice>& devices) {
  program_ = setup.program;
  if (!program_.empty()) {
    out_ << fmt::format("# plumbline {} algorithm {} transport {}", PLUMBLINE_VERSION,
                        word(setup.algorithm), word(setup.transport));
    if (!setup.compression.empty()) out_ << " compression " << word(setup.compression);
    if (!setup.split.empty()) out_ << " split " << word(setup.split);
    out_ << "\n";
    out_ << "# Collective test starting: " << word(program_) << "\n";
  }
  out_ << fmt::format(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} "
      "agg iters: {} validation: {} graph: 0\n#\n# Using devices\n",
      setup.threads, setup.gpus, setup.min_bytes, setup.max_bytes, setup.step,
      setup.step_is_factor ? "factor" : "bytes", setup.warmup_iterations, setup.iterations,
      setup.aggregate, setup.validation);
  for (const NcclDevice& d : devices) {
    out_ << fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [{}] {}\n", d.rank,
                        d.group, d.pid, word(d.host), d.device, clean(d.bus), clean(d.name));
  }
  out_.flush();
}

void NcclWriter::header() {
  const std::string left(51, ' ');
  out_ << "#\n#" << left << "           out-of-place                       in-place          ";
  out_ << "\n#       size         count      type   redop    root     time   algbw   busbw #wrong"
          "     time   algbw   busbw #wrong\n#        (B)    (elements)                            "
          "   (us)  (GB/s)  (GB/s)       "
          "     (us)  (GB/s)  (GB/s)       ";
  out_ << "\n";
  out_.flush();
}

void NcclWriter::row(const NcclRow& row) {
  out_ << fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:>6}", row.size, row.count, word(row.type),
                      word(row.redop), row.root);
  side(row.out, row.size);
  side(row.in, row.size);
  out_ << "\n";
  out_.flush();
}

void NcclWriter::side(const std::optional<NcclSide>& side, uint64_t bytes) {
  if (!side || !std::isfinite(side->time_us)) {
    out_ << fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", "N/A", "N/A", "N/A", "N/A");
    return;
  }
  const std::string wrong =
      side->wrong ? fmt::format("{:5g}", static_cast<double>(*side->wrong)) : std::string("  N/A");
  out_ << fmt::format("  {:>7}  {:6.2f}  {:6.2f}  {}", nccl_time(side->time_us), side->algbw,
                      side->busbw, wrong);
  if (side->wrong.value_or(0) > 0) ++wrong_placements_;
  busbw_sum_ += side->busbw;
  ++placements_;
  if (side->wrong) ++checked_;
  if (bytes > 0) ++moved_;
}

void NcclWriter::comment(const std::string& text) {
  out_ << "# " << clean(text) << "\n";
  out_.flush();
}

void NcclWriter::verified(uint64_t verified, uint64_t operations) {
  comment(fmt::format("Verified operations  : {} of {}", verified, operations));
}

void NcclWriter::footer() {
  std::string bounds = fmt::format("{} {}", wrong_placements_, wrong_placements_ ? "FAILED" : "OK");
  if (wrong_placements_ == 0 && placements_ == 0) bounds = "N/A (nothing was measured)";
  if (wrong_placements_ == 0 && placements_ > 0 && checked_ == 0) bounds = "N/A (not checked)";
  const std::string mean =
      moved_ > 0 ? fmt::format("{:g}", busbw_sum_ / static_cast<double>(placements_)) : "N/A";
  out_ << "# Out of bounds values : " << bounds << "\n# Avg bus bandwidth    : " << mean
       << " \n#\n";
  if (!program_.empty()) out_ << "# Collective test concluded: " << word(program_) << "\n";
  out_.flush();
}

}  // namespace plumbline
