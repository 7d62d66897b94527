// A submission of the seeded run (tests/reports/bundle_samples.h), for the tests of submit, verify
// and results.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "core/record/record.h"
#include "tests/reports/bundle_samples.h"
#include "tests/support/program.h"
#include "tests/support/record_line.h"

namespace plumbline {

inline std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

// A folder with the records of the seeded run.
inline std::string write_run(const ScratchFolder& folder, const std::vector<Record>& run) {
  std::string lines;
  for (const Record& record : run) lines += to_line(record) + "\n";
  std::filesystem::create_directories(folder.path("run"));
  return std::filesystem::path(folder.write("run/records.jsonl", lines)).parent_path().string();
}

inline std::vector<std::string> submit_argv(const std::string& run, const std::string& out,
                                            const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"submit",      run,
                                    "--link-kind", "ethernet-10g",
                                    "--cable",     "between Zebra7 and 10.77.0.2",
                                    "--hardware",  "Mac mini",
                                    "--out",       out};
  words.insert(words.end(), more.begin(), more.end());
  return plumbline_argv(words);
}

// The bundle that a submission says it has written.
inline std::string written(const Finished& finished) {
  EXPECT_EQ(finished.status, 0) << finished.err;
  const size_t at = finished.out.find("Bundle: ");
  if (at == std::string::npos) return "";
  return finished.out.substr(at + 8, finished.out.find('\n', at) - at - 8);
}

inline std::string submitted(const ScratchFolder& folder,
                             const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = more;
  words.emplace_back("--yes");
  return written(run_program(
      submit_argv(write_run(folder, samples::seeded_run()), folder.path("community"), words)));
}

}  // namespace plumbline
