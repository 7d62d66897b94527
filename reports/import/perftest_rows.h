// One row of perftest (ib_write_bw, ib_send_lat ...), from its JSON or its table, as a record.
// Write and send latencies are half a round trip and doubled; bidirectional bandwidths are the sum
// of both directions and halved; a read is its own operation.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/import/importer.h"

namespace plumbline {

struct PerftestRow {
  std::string test;  // "RDMA_Write BW Test", with blanks or underscores
  std::vector<std::pair<std::string, std::string>> params;  // "device", "mlx5_0"
  uint64_t bytes = 0, iterations = 0;
  std::optional<double> average_Bps, peak_Bps, message_rate;  // message_rate: millions a second
  std::optional<double> typical_us, mean_us, min_us, max_us, p99_us, p999_us;
};

Status add_perftest_row(const ImportFile& file, const PerftestRow& row, ImportResult& out);
// Bytes per second of "MiB/s", "MiB/sec", "MB/sec" (2^20) or "Gb/s", "Gb/sec" (10^9 bits).
std::optional<double> perftest_unit(const std::string& unit);

}  // namespace plumbline
