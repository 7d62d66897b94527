// What comparing files and measuring two sides in turns share: reading the two sides, and what the
// answer means for the exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/compare/compare.h"

namespace plumbline {

// The record files behind an argument: the file itself, the records.jsonl of a run's folder, or
// those of all runs whose folders lie in it, sorted.
Expected<std::vector<std::string>> record_files(const std::string& path);

// Reads one side record by record, up to this series of launches; what was strange about its files
// goes to `notes`. An Error: a file cannot be read, or the side has nothing that could be compared.
Status read_side(CompareCollector& collector, size_t side, const std::string& path,
                 std::vector<std::string>& notes, int64_t last_series = INT64_MAX);

// Adds to the notes which runs of a side did not measure all that they planned.
void note_incomplete(const std::string& path, const char* side, Comparison& comparison);

// An Error when no cell was measured on both sides.
Status check_common(const Comparison& comparison);

// 3 wrong data, 2 broken, 5 slower, 6 inconclusive (only when `strict`), else 0.
int compare_exit_code(const Comparison& comparison, bool strict);

// NAME.svg and .png with data and script, in the folder of `path` ("x.svg", "x.png" or "x").
Status draw_comparison(const Comparison& comparison, const std::string& path,
                       std::vector<std::string>& written);

}  // namespace plumbline
