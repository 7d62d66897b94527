#include "collectives/cell_run.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(CellRuns, EveryKindHasItsRow) {
  const auto kinds = cell_kind_table();
  ASSERT_EQ(cell_run_table().size(), kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(cell_run_table()[i].kind, kinds[i].kind) << kinds[i].name;
    EXPECT_NE(cell_run_of(kinds[i].kind).run, nullptr) << kinds[i].name;
    EXPECT_NE(cell_run_of(kinds[i].kind).memory, nullptr) << kinds[i].name;
  }
}

}  // namespace
}  // namespace plumbline
