// One placement of one row of nccl-tests, from its JSON or its table, as a record.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/import/importer.h"

namespace plumbline {

struct NcclImportRow {
  std::string op;                          // any name of it
  std::string kind, algorithm, transport;  // empty = by size, "auto", "nccl"
  std::string compression;                 // empty = none
  std::string split;                       // likewise
  int arrays = 1;                          // of one operation
  int ranks = 0;
  uint64_t size = 0, count = 0;
  std::string type, redop;  // nccl's names
  int root = -1;
  bool in_place = false;
  std::string version;
  std::string statistic = "mean";
  // Microseconds and 10^9 bytes per second; of `wrong`, absent = not checked.
  std::optional<double> time_us, algbw, busbw;
  std::optional<double> wrong;
  std::vector<double> times_us;  // of each iteration, slowest process; may be empty
  uint64_t iterations = 0;
  std::string time;  // when it ended; may be empty
  std::vector<std::string> command;
};

Status add_nccl_row(const ImportFile& file, const NcclImportRow& row, ImportResult& out);

}  // namespace plumbline
