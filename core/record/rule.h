// What became of one rule of `expect` (docs/scenario_format.md): which results it looked at and
// whether they were good enough. Evaluated from finished records, shown in every report; any rule
// that is not passed makes the exit code 4. Plain value.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

struct RuleVerdict {
  std::string rule;     // in words: "allreduce from 16 MiB on: bus bandwidth >= 70 % of the roof"
  std::string where;    // the file and the place in it, without folders, so that it is the same in
                        // every run: "quickstart.json $.expect[0]"
  bool passed = false;  // a rule for which there is no result at all is not passed
  std::string message;  // in words: "2 of 12 results are below; worst: allreduce ring ... 61 %"
  std::vector<std::string> cells;   // ids of the cells it looked at
  std::vector<std::string> failed;  // of those, the ones below; both empty when none was there
  // Whose they are, in words, where a report has records of others too; else empty.
  std::string records = {};
};

}  // namespace plumbline
