#include "launch/affinity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

namespace plumbline {
namespace {

TEST(ChooseCpus, AutoBindsOnlyWhenEveryRankGetsItsOwn) {
  const std::vector<int> cpus = {0, 2, 4, 6};
  EXPECT_EQ(choose_cpus("auto", cpus, 4, 0), cpus);
  EXPECT_EQ(choose_cpus("auto", cpus, 5, 0), std::vector<int>(5, -1));
  EXPECT_EQ(choose_cpus("core", cpus, 5, 0), (std::vector<int>{0, 2, 4, 6, 0}));
  EXPECT_EQ(choose_cpus("none", cpus, 1, 0), std::vector<int>(1, -1));
  EXPECT_EQ(choose_cpus("core", {}, 2, 0), std::vector<int>(2, -1));
}

TEST(ChooseCpus, TheOffsetKeepsRunsApart) {
  EXPECT_EQ(choose_cpus("auto", {0, 1, 2, 3}, 2, 2), (std::vector<int>{2, 3}));
  EXPECT_EQ(choose_cpus("auto", {0, 1, 2, 3}, 2, 3), (std::vector<int>{3, 0}));
  // Whoever gave this program just as many as it has ranks gave each its own.
  EXPECT_EQ(choose_cpus("core", {4, 5, 6}, 3, 1), (std::vector<int>{4, 5, 6}));
}

TEST(ChooseCpus, SecondThreadsLeaveACoreToOthers) {
  EXPECT_FALSE(cores_for_second_threads(2, 2));
  EXPECT_FALSE(cores_for_second_threads(4, 2));
  EXPECT_TRUE(cores_for_second_threads(5, 2));
  EXPECT_FALSE(cores_for_second_threads(16, 8));
  EXPECT_TRUE(cores_for_second_threads(16, 7));
}

// A second thread of each rank gets what comes behind the ranks' own.
TEST(ChooseCpus, SpareOnesComeNext) {
  const std::vector<int> cpus = {0, 2, 4, 6, 1, 3, 5, 7};
  EXPECT_EQ(choose_spare_cpus("auto", cpus, 2, 0), (std::vector<int>{4, 6}));
  EXPECT_EQ(choose_spare_cpus("core", cpus, 4, 0), (std::vector<int>{1, 3, 5, 7}));
  EXPECT_EQ(choose_spare_cpus("auto", cpus, 5, 0), std::vector<int>(5, -1));
  EXPECT_EQ(choose_spare_cpus("none", cpus, 2, 0), std::vector<int>(2, -1));
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (int offset = 0; offset < 20; ++offset) {
      std::vector<int> all = choose_cpus("auto", cpus, ranks, offset);
      for (const int cpu : choose_spare_cpus("auto", cpus, ranks, offset)) all.push_back(cpu);
      EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), all.size()) << ranks << offset;
    }
  }
}

TEST(Affinity, RangesAreWrittenAsTheSystemWritesThem) {
  EXPECT_EQ(cpu_ranges({}), "");
  EXPECT_EQ(cpu_ranges({3}), "3");
  EXPECT_EQ(cpu_ranges({0, 1, 2, 5}), "0-2,5");
  EXPECT_EQ(cpu_ranges({0, 2, 4, 5}), "0,2,4-5");
}

TEST(Affinity, IsWhatTheThreadWasBoundTo) {
  const std::vector<int> cpus = cpus_by_preference();
  if (cpus.empty()) GTEST_SKIP() << "this system does not let processes choose their CPU";
  std::vector<int> sorted = cpus;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(own_affinity().cpus, cpu_ranges(sorted));
  std::thread([&] {
    ASSERT_TRUE(bind_to_cpu(cpus.back()));
    const Affinity bound = own_affinity();
    EXPECT_EQ(bound.cpus, std::to_string(cpus.back()));
    EXPECT_GE(bound.numa_node, -1);
  }).join();
}

TEST(Cpus, EachOnceAndBindable) {
  const std::vector<int> cpus = cpus_by_preference();
  if (cpus.empty()) GTEST_SKIP() << "this system does not let processes choose their CPU";
  EXPECT_EQ(std::set<int>(cpus.begin(), cpus.end()).size(), cpus.size());
  std::thread([&] {
    ASSERT_TRUE(bind_to_cpu(cpus.back()));
    EXPECT_EQ(cpus_by_preference(), std::vector<int>{cpus.back()});
  }).join();
  EXPECT_EQ(cpus_by_preference(), cpus);
  EXPECT_FALSE(bind_to_cpu(1000));
}

}  // namespace
}  // namespace plumbline
