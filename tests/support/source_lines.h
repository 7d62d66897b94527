// Looks for words in the sources of the program, for tests of what may stand in one place only.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "tests/support/places.h"

namespace plumbline {

// Fails for every line outside the files `home` (paths from the top of the tree) that matches.
inline void expect_only_in(const std::set<std::string>& home, const std::regex& words) {
  namespace fs = std::filesystem;
  size_t files = 0;
  for (const char* folder : {"cli", "collectives", "core", "kernels", "lab", "launch", "probes",
                             "reports", "runs", "scenarios", "transport"}) {
    const fs::path top = fs::path(test::source_dir()) / folder;
    if (!fs::exists(top)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(top)) {
      const std::string path = fs::relative(entry.path(), test::source_dir()).string();
      const std::string ending = entry.path().extension().string();
      if ((ending != ".cc" && ending != ".h") || home.count(path) > 0) continue;
      ++files;
      std::ifstream in(entry.path());
      std::string line;
      for (size_t number = 1; std::getline(in, line); ++number) {
        EXPECT_FALSE(std::regex_search(line, words)) << path << ":" << number << ": " << line;
      }
    }
  }
  EXPECT_GT(files, 500u);
}

}  // namespace plumbline
