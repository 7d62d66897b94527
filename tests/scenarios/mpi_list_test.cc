// What a host of an MPI list means, as Open MPI 4.1.4 reads it: orte/util/hostfile/hostfile.c,
// hostfile_parse_line() (slots start at 1 and count up line by line; with max_slots alone they are
// as many as those), and orte_set_slots "cores" for a host that is not given any. The numbers are
// those of `mpirun --hostfile FILE --display-allocation` of that version.
#include "core/host/process_facts.h"
#include "tests/scenarios/host_file_support.h"

namespace plumbline::scenario_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Slots {
  int ranks;
  bool of_cores;
};

Slots slots_of(const std::string& text) {
  const HostFile file = read(text);
  if (file.hosts.size() != 1) {
    ADD_FAILURE() << text << ": " << file.hosts.size() << " hosts";
    return {};
  }
  return {file.hosts[0].ranks, file.hosts[0].ranks_of_cores};
}

TEST(MpiList, WithoutSlotsAsManyAsCores) {
  EXPECT_TRUE(slots_of("node1\n").of_cores);
  EXPECT_FALSE(slots_of("node1 slots=2\n").of_cores);
  EXPECT_GE(physical_cores(), 1);
}

TEST(MpiList, MaxSlotsAloneAreTheSlots) {
  EXPECT_EQ(slots_of("node1 max_slots=5\n").ranks, 5);
  EXPECT_FALSE(slots_of("node1 max_slots=5\n").of_cores);
  EXPECT_EQ(slots_of("node1 max-slots=3\n").ranks, 3);
  EXPECT_EQ(slots_of("node1 max_slots=2 slots=4\n").ranks, 4);
  EXPECT_EQ(slots_of("node1 slots=2 max_slots=4\n").ranks, 2);
}

TEST(MpiList, EachLineWithoutANumberIsOneSlotMore) {
  EXPECT_EQ(slots_of("node1\nnode1\n").ranks, 2);
  EXPECT_FALSE(slots_of("node1\nnode1\n").of_cores);
  EXPECT_EQ(slots_of("node1 slots=2\nnode1\n").ranks, 3);
  EXPECT_EQ(slots_of("node1 max-slots=3\nnode1\n").ranks, 4);
}

// Hydra's own form, in which a host without a number is one process.
TEST(MpiList, InMpichsFormAHostWithoutANumberIsOne) {
  const HostFile file = read("node1:3\nnode2\n");
  EXPECT_EQ(file.hosts[1].ranks, 1);
  EXPECT_FALSE(file.hosts[1].ranks_of_cores);
}

TEST(MpiList, AScenarioThatSaysRanksPerHostIsObeyed) {
  const TempFolder folder;
  folder.write("hosts.txt", "node1\nnode2 slots=4\n");
  const auto ranks = [&](const std::string& launch) {
    const auto scenario =
        load_scenario(folder.write("s.json", R"({"plumbline": 1, "probes": ["ip"], )" + launch +
                                                 R"("hosts": {"hostfile": "hosts.txt"}})"),
                      vocabulary());
    EXPECT_TRUE(scenario) << all_lines(scenario.error());
    return scenario ? scenario->hosts : std::vector<ScenarioHost>(2);
  };
  EXPECT_TRUE(ranks("")[0].ranks_of_cores);
  const auto said = ranks(R"("launch": {"ranks_per_host": 1}, )");
  EXPECT_FALSE(said[0].ranks_of_cores);
  EXPECT_EQ(said[0].ranks, 1);
  EXPECT_EQ(said[1].ranks, 4);
}

TEST(MpiList, ConversionsKeepThatNobodyCounted) {
  const HostFile file = read("node1\nnode2 slots=2\n");
  const auto own = write_host_file(file, *find_host_file_format("ours"), 0);
  ASSERT_TRUE(own);
  EXPECT_THAT(own->lost, IsEmpty());
  EXPECT_THAT(own->text, HasSubstr(R"("ranks":"cores")"));
  EXPECT_TRUE(read(own->text).hosts[0].ranks_of_cores);
  const auto back = write_host_file(read(own->text), *find_host_file_format("mpi"), 0);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->text, "node1\nnode2 slots=2\n");
  const auto mlx = write_host_file(file, *find_host_file_format("mlx"), 0);
  ASSERT_TRUE(mlx);
  EXPECT_THAT(mlx->lost, ElementsAre("ranks (node1, node2)"));
}

}  // namespace
}  // namespace plumbline::scenario_test
