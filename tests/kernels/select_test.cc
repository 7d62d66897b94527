// Choosing a kernel set: automatically, by name, by a wrong name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kernels/kernels.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

TEST(KernelSets, end_with_the_scalar_reference) {
  const auto sets = kernel_sets();
  ASSERT_FALSE(sets.empty());
  EXPECT_STREQ(sets.back()->target, "scalar");
}

TEST(KernelSets, have_distinct_names) {
  std::set<std::string> names;
  for (const KernelSet* set : kernel_sets()) EXPECT_TRUE(names.insert(set->target).second);
  EXPECT_EQ(names.count("auto"), 0u);
}

TEST(KernelSets, are_complete) {
  for (const KernelSet* set : kernel_sets()) {
    for (const DTypeRow& d : dtype_table()) {
      EXPECT_NE(set->scale_fn(d.dtype), nullptr) << set->target << " " << d.name;
      for (const RedOpRow& op : redop_table()) {
        EXPECT_NE(set->reduce(d.dtype, op.redop, false), nullptr) << set->target << " " << d.name;
        EXPECT_NE(set->reduce(d.dtype, op.redop, true), nullptr) << set->target << " " << d.name;
      }
      EXPECT_EQ(set->reduce(d.dtype, RedOp::kSum, false), set->reduce(d.dtype, RedOp::kAvg, false));
    }
    EXPECT_NE(set->f32_to_f16, nullptr);
    EXPECT_NE(set->f32_to_bf16, nullptr);
    EXPECT_NE(set->f16_to_f32, nullptr);
    EXPECT_NE(set->bf16_to_f32, nullptr);
    EXPECT_NE(set->crc32c, nullptr);
  }
}

// Each name stands for code of its own: forcing one target must not run another.
TEST(KernelSets, run_different_code_per_target) {
  std::set<ReduceFn> functions;
  for (const KernelSet* set : kernel_sets()) {
    if (std::string(set->target) == "AVX3_BF16") continue;  // AVX3 but for bf16
    EXPECT_TRUE(functions.insert(set->reduce(DType::kF32, RedOp::kSum, false)).second)
        << set->target;
  }
}

TEST(KernelSets, with_native_bf16_differ_in_bf16_only) {
  const auto native = select_kernels("AVX3_BF16");
  if (!native) GTEST_SKIP() << native.error().message();
  const KernelSet* base = kernel_sets()[1];
  for (const DTypeRow& d : dtype_table()) {
    const bool same =
        (*native)->reduce(d.dtype, RedOp::kSum, false) == base->reduce(d.dtype, RedOp::kSum, false);
    EXPECT_EQ(same, d.dtype != DType::kBf16) << d.name;
  }
}

TEST(SelectKernels, auto_takes_the_best) {
  const auto best = select_kernels("auto");
  ASSERT_TRUE(best);
  EXPECT_EQ(*best, kernel_sets().front());
}

TEST(SelectKernels, finds_each_by_its_name) {
  for (const KernelSet* set : kernel_sets()) {
    const auto found = select_kernels(set->target);
    ASSERT_TRUE(found) << set->target;
    EXPECT_EQ(*found, set);
  }
}

TEST(SelectKernels, refuses_other_names_and_lists_the_right_ones) {
  for (const char* name : {"", "avx2", "AVX", "AVX9000", "scalar ", "AUTO"}) {
    const auto found = select_kernels(name);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().code, ErrorCode::kConfig);
    EXPECT_THAT(found.error().what, HasSubstr(std::string("'") + name + "'"));
    EXPECT_THAT(found.error().hint, HasSubstr("auto"));
    for (const KernelSet* set : kernel_sets()) {
      EXPECT_THAT(found.error().hint, HasSubstr(set->target));
    }
  }
}

}  // namespace
}  // namespace plumbline
