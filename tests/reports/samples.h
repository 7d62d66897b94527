// Synthetic records for the tests of the reports: fixed numbers that look like a small machine's,
// the same on every run.
#pragma once

#include <string>
#include <vector>

#include "core/record/record.h"
#include "reports/charts/picture.h"

namespace plumbline::samples {

// A passed record with `n` samples around `p50_ns` (fixed spread of some percent).
Record record(const std::string& kind, const std::string& op, const std::string& algorithm,
              int ranks, uint64_t bytes, double p50_ns, int n = 2000);
Record throughput(const std::string& op, const std::string& algorithm, int ranks, uint64_t bytes,
                  int outstanding, double ops_per_s);
// The four roofs.
std::vector<Record> roofs();
// One of everything: roofs, latency and bandwidth of two operations on 2 and 4 ranks with both
// placements, barrier, throughput, checks with failures, noise, skips and errors.
std::vector<Record> small_run();
// A run as large as the shipped benchmark matrix, for looking at plots.
std::vector<Record> large_run();

}  // namespace plumbline::samples

namespace plumbline {

// What NAME.dat and NAME.gp of a picture hold.
inline std::string data_text(const Picture& picture) { return chart_data(chart_of(picture)); }
inline std::string script_text(const Picture& picture) { return chart_script(chart_of(picture)); }

}  // namespace plumbline
