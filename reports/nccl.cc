#include "reports/nccl.h"

#include <fmt/format.h>

#include <cmath>

#include "reports/text.h"

namespace plumbline {
namespace {

// Seven characters for times up to 10 s: fewer decimals as the number grows.
std::string time_text(double us) {
  if (us >= 10000) return fmt::format("{:7.0f}", us);
  return us >= 100 ? fmt::format("{:7.1f}", us) : fmt::format("{:7.2f}", us);
}

std::string finite_time(std::optional<double> us) {
  return us && std::isfinite(*us) ? time_text(*us) : std::string("n/a");
}

// One word: parsers split at spaces.
std::string word(const std::string& text) {
  std::string out = clean(text);
  for (char& c : out) {
    if (c == ' ') c = '_';
  }
  return out.empty() ? "none" : out;
}

constexpr const char* kExtraNames[] = {"p50", "ci_lo", "ci_hi", "p99"};

}  // namespace

void NcclWriter::preamble(const NcclSetup& setup, const std::vector<NcclDevice>& devices) {
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
  if (extra_) {
    out_ << fmt::format("  {:^34}  {:^34}", "slowest rank, out-of-place", "slowest rank, in-place");
  }
  out_ << "\n#       size         count      type   redop    root     time   algbw   busbw #wrong"
          "     time   algbw   busbw #wrong";
  for (int i = 0; extra_ && i < 2; ++i) {
    for (const char* name : kExtraNames) out_ << fmt::format("  {:>7}", name);
  }
  out_ << "\n#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       "
          "     (us)  (GB/s)  (GB/s)       ";
  for (int i = 0; extra_ && i < 8; ++i) out_ << fmt::format("  {:>7}", "(us)");
  out_ << "\n";
  out_.flush();
}

void NcclWriter::row(const NcclRow& row) {
  out_ << fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:>6}", row.size, row.count, word(row.type),
                      word(row.redop), row.root);
  side(row.out);
  side(row.in);
  if (extra_) {
    extra_columns(row.out);
    extra_columns(row.in);
  }
  out_ << "\n";
  out_.flush();
}

void NcclWriter::side(const std::optional<NcclSide>& side) {
  if (!side || !std::isfinite(side->time_us)) {
    out_ << fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", "N/A", "N/A", "N/A", "N/A");
    return;
  }
  const std::string wrong =
      side->wrong ? fmt::format("{:5g}", static_cast<double>(*side->wrong)) : std::string("  N/A");
  out_ << fmt::format("  {:>7}  {:6.2f}  {:6.2f}  {}", time_text(side->time_us), side->algbw,
                      side->busbw, wrong);
  if (side->wrong.value_or(0) > 0) ++wrong_placements_;
  busbw_sum_ += side->busbw;
  ++placements_;
}

void NcclWriter::extra_columns(const std::optional<NcclSide>& side) {
  const NcclSide none;
  const NcclSide& s = side ? *side : none;
  for (const auto& value : {s.p50_us, s.ci_low_us, s.ci_high_us, s.p99_us}) {
    out_ << fmt::format("  {:>7}", finite_time(value));
  }
}

void NcclWriter::comment(const std::string& text) {
  out_ << "# " << clean(text) << "\n";
  out_.flush();
}

void NcclWriter::footer() {
  if (placements_ == 0 && wrong_placements_ == 0) {
    out_ << "# Out of bounds values : N/A (nothing was measured)\n"
            "# Avg bus bandwidth    : N/A \n#\n";
    out_.flush();
    return;
  }
  const double mean = placements_ ? busbw_sum_ / static_cast<double>(placements_) : 0;
  out_ << fmt::format("# Out of bounds values : {} {}\n", wrong_placements_,
                      wrong_placements_ ? "FAILED" : "OK");
  out_ << fmt::format("# Avg bus bandwidth    : {:g} \n#\n", mean);
  out_.flush();
}

}  // namespace plumbline
