// Comparison with a file of tests/golden. Run the tests with TEST_UPDATE_GOLDEN=1 to write the
// files anew after a wanted change, and read the difference before committing it.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace plumbline {

testing::AssertionResult equals_golden(const std::string& text, const std::string& file_name);

}  // namespace plumbline
