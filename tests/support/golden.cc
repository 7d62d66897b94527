#include "tests/support/golden.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/places.h"

namespace plumbline {

testing::AssertionResult equals_golden(const std::string& text, const std::string& file_name) {
  const std::string path = test::source_dir() + "/tests/golden/" + file_name;
  if (std::getenv("TEST_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return testing::AssertionFailure() << "cannot read " << path;
  std::stringstream expected;
  expected << file.rdbuf();
  if (expected.str() == text) return testing::AssertionSuccess();
  std::istringstream a(expected.str()), b(text);
  std::string line_a, line_b;
  for (int number = 1;; ++number) {
    const bool more_a = static_cast<bool>(std::getline(a, line_a));
    const bool more_b = static_cast<bool>(std::getline(b, line_b));
    if (more_a && more_b && line_a == line_b) continue;
    return testing::AssertionFailure()
           << path << " line " << number << "\n expected: " << (more_a ? line_a : "(end)")
           << "\n      got: " << (more_b ? line_b : "(end)");
  }
}

}  // namespace plumbline
