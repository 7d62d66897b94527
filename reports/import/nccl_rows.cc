#include "reports/import/nccl_rows.h"

#include <algorithm>
#include <cmath>

#include "core/op.h"
#include "reports/import/foreign.h"

namespace plumbline {
namespace {

constexpr double kMaxUs = 1e12;         // eleven days: beyond it a number is no time
constexpr size_t kKeptSamples = 10000;  // as in our own records

std::string our_type(const std::string& name) {
  const std::optional<DType> known = dtype_from(name);
  return known ? to_string(*known) : name;
}

std::string our_redop(const std::string& name) {
  const std::optional<RedOp> known = redop_from(name);
  return known ? to_string(*known) : name.empty() ? "none" : name;
}

void take_samples(const std::vector<double>& times_us, Measurement& m) {
  for (const double us : times_us) {
    if (!(us >= 0) || us > kMaxUs) continue;
    const int64_t ns = std::llround(us * 1e3);
    m.hist.add(ns);
    if (m.samples_ns.size() < kKeptSamples) m.samples_ns.push_back(ns);
  }
}

}  // namespace

Status add_nccl_row(const ImportFile& file, const NcclImportRow& row, ImportResult& out) {
  Record record = imported_record("nccl-tests", row.version);
  Cell& cell = record.cell;
  set_op(row.op, record);
  cell.kind = cell_kind_from(row.kind).value_or(kind_by_size(row.size));
  if (!row.algorithm.empty()) cell.algorithm = row.algorithm;
  cell.transport = row.transport.empty() ? "nccl" : row.transport;
  cell.ranks = row.ranks;
  cell.bytes = row.size;
  cell.count = row.count;
  cell.dtype = our_type(row.type);
  cell.redop = our_redop(row.redop);
  cell.root = row.root;
  cell.placement = row.in_place ? "in" : "out";
  record.time = row.time;
  record.environment.command = row.command;

  Measurement& m = record.measurement;
  m.iterations = row.iterations;
  take_samples(row.times_us, m);
  Reported& told = *m.reported;
  if (row.time_us && *row.time_us >= 0 && *row.time_us < kMaxUs) {
    told.time_ns = *row.time_us * 1e3;
    told.statistic = row.statistic;
  }
  if (row.algbw && *row.algbw >= 0) told.algbw_Bps = *row.algbw * 1e9;
  if (row.busbw && *row.busbw >= 0) told.busbw_Bps = *row.busbw * 1e9;
  if (row.wrong && *row.wrong >= 0 && *row.wrong < 1e18) {
    m.wrong = static_cast<uint64_t>(*row.wrong);
    m.verified = *m.wrong == 0;
    if (*m.wrong > 0) {
      m.outcome = Outcome::kFailed;
      m.reason = "nccl-tests counted wrong elements";
    }
  }
  return add_record(file, std::move(record), out);
}

}  // namespace plumbline
