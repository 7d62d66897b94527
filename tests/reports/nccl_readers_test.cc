// Programs that read nccl-tests' table, as far as they decide what is read: written anew after
// their sources, which each reader names. Our table without columns of ours must give them what it
// says.
#include <gtest/gtest.h>

#include <optional>
#include <sstream>

#include "reports/export/nccl.h"

namespace plumbline {
namespace {

std::vector<std::string> nccl_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::optional<double> number(const std::string& word) {
  std::istringstream in(word);
  double value = 0;
  return in >> value && in.peek() == EOF ? std::optional(value) : std::nullopt;
}

// NVIDIA/cloudai, src/cloudai/workloads/nccl_test/performance_report_generation_strategy.py,
// _parse_data_rows() and _extract_data(): lines that begin with a digit and have exactly 13 words;
// of these, rows whose size, times and bandwidths are all numbers.
std::vector<std::vector<double>> cloudai_rows(const std::string& text) {
  std::vector<std::vector<double>> rows;
  for (const std::string& line : nccl_lines(text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() != 13 || words[0].find_first_of("0123456789") != 0) continue;
    std::vector<double> row;
    for (const size_t i : {0U, 5U, 6U, 7U, 9U, 10U, 11U}) {
      if (const auto value = number(words[i])) row.push_back(*value);
    }
    if (row.size() == 7) rows.push_back(row);
  }
  return rows;
}

// The same, job_status_retrieval_strategy.py, get_job_status().
bool cloudai_calls_it_done(const std::string& text) {
  return !has(text, "Test failure") && has(text, "# Out of bounds values") &&
         has(text, "# Avg bus bandwidth");
}

struct SuperBenchRow {
  double size = 0, time = 0, algbw = 0, busbw = 0;
};

// microsoft/superbenchmark, superbench/benchmarks/micro_benchmarks/cuda_nccl_bw_performance.py,
// _process_raw_result(): between the last line with "out-of-place" and that of the bounds; columns
// by their distance from the end of the header's line, the first or the last of a name.
std::vector<SuperBenchRow> superbench_rows(const std::string& text, bool in_place) {
  const std::vector<std::string> lines = nccl_lines(text);
  size_t begin = lines.size(), end = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (has(lines[i], "out-of-place")) begin = i + 1;
    if (has(lines[i], "Out of bounds values")) end = i;
  }
  std::vector<SuperBenchRow> rows;
  std::vector<std::string> header;
  const auto from_end = [&](const std::string& name) {
    const auto first = std::find(header.begin(), header.end(), name);
    const auto last = std::find(header.rbegin(), header.rend(), name);
    return in_place ? static_cast<size_t>(last - header.rbegin()) + 1
                    : static_cast<size_t>(header.end() - first);
  };
  for (size_t i = begin; i < end; ++i) {
    const std::vector<std::string> words = words_of(lines[i]);
    if (header.empty() && has(lines[i], "time") && has(lines[i], "busbw")) {
      header = words_of(lines[i].substr(1));
    }
    if (header.empty() || words.empty() || !number(words[0]) || words[0] == "0") continue;
    const auto value = [&](const std::string& name) {
      const size_t distance = from_end(name);
      return distance <= words.size() ? number(words[words.size() - distance]).value_or(-1) : -1;
    };
    rows.push_back({*number(words[0]), value("time"), value("algbw"), value("busbw")});
  }
  return rows;
}

NcclSide side(double time_us, double algbw, double busbw, std::optional<uint64_t> wrong) {
  NcclSide s;
  s.time_us = time_us;
  s.algbw = algbw;
  s.busbw = busbw;
  s.wrong = wrong;
  return s;
}

std::string table() {
  std::ostringstream out;
  NcclWriter writer(out);
  NcclSetup setup;
  setup.program = nccl_program("alltoall");
  setup.algorithm = setup.transport = "auto";
  NcclDevice device;
  device.host = "host1";
  device.bus = "lo";
  writer.preamble(setup, {device});
  writer.comment("alltoall has no in-place form: those columns repeat it, not checked");
  writer.header();
  writer.row(
      {1024, 128, "float", "none", -1, side(12.5, 1, 1.5, 0), side(13.5, 2, 2.5, std::nullopt)});
  writer.row({2097152, 262144, "float", "none", -1, side(1234.5, 3, 3.5, 0),
              side(1235.5, 4, 4.5, std::nullopt)});
  writer.footer();
  return out.str();
}

TEST(NcclReaders, CloudAiReadsEveryRowOfOurTable) {
  const auto rows = cloudai_rows(table());
  ASSERT_EQ(rows.size(), 2U) << table();
  EXPECT_EQ(rows[0], (std::vector<double>{1024, 12.5, 1, 1.5, 13.5, 2, 2.5}));
  EXPECT_EQ(rows[1], (std::vector<double>{2097152, 1234.5, 3, 3.5, 1235.5, 4, 4.5}));
  EXPECT_TRUE(cloudai_calls_it_done(table()));
  // That is why columns of ours are for people only.
  std::string wider = table();
  for (size_t at = 0; (at = wider.find("N/A\n", at)) != std::string::npos; at += 9) {
    wider.insert(at + 3, "  9.5");
  }
  EXPECT_TRUE(cloudai_rows(wider).empty()) << wider;
}

TEST(NcclReaders, SuperBenchReadsBothSidesOfOurTable) {
  for (const bool in_place : {false, true}) {
    const auto rows = superbench_rows(table(), in_place);
    ASSERT_EQ(rows.size(), 2U) << table();
    EXPECT_EQ(rows[0].size, 1024);
    EXPECT_EQ(rows[0].time, in_place ? 13.5 : 12.5);
    EXPECT_EQ(rows[0].algbw, in_place ? 2 : 1);
    EXPECT_EQ(rows[1].busbw, in_place ? 4.5 : 3.5);
  }
}

}  // namespace
}  // namespace plumbline
