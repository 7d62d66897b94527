#include "probes/job/job_variables.h"

#include <gmock/gmock.h>

#include <set>

namespace plumbline {
namespace {

using namespace std::string_view_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(JobVariables, OnlyListedNamesWithFittingValuesAreKept) {
  const JobVariables kept = allowed_variables(
      "RANK=3\0AWS_SECRET_ACCESS_KEY=abc\0MASTER_PORT=29500; rm\0MASTER_ADDR=mini1.local\0"
      "RANK=4\0nonsense\0=x\0GLOO_SOCKET_IFNAME=en0 secret\0WORLD_SIZE=sk-123\0"sv);
  EXPECT_THAT(kept, ElementsAre(Pair("MASTER_ADDR", "mini1.local"), Pair("RANK", "3")));
}

TEST(JobVariables, NoRowIsOfASecretAndNoneIsThereTwice) {
  std::set<std::string> names;
  for (const JobVariableRow& row : job_variable_table()) {
    const std::string name = row.name;
    EXPECT_TRUE(names.insert(name).second) << name;
    for (const char* word : {"TOKEN", "KEY", "SECRET", "PASS", "CREDENTIAL"}) {
      EXPECT_EQ(name.find(word), std::string::npos) << name;
    }
  }
}

TEST(JobVariables, LongValuesAndEmptyTextsAreNothing) {
  EXPECT_THAT(allowed_variables("MASTER_ADDR="sv), ElementsAre(Pair("MASTER_ADDR", "")));
  EXPECT_THAT(allowed_variables(""sv), IsEmpty());
  EXPECT_THAT(allowed_variables(std::string_view("\0\0\0", 3)), IsEmpty());
  EXPECT_THAT(allowed_variables(JobVariables{{"MASTER_ADDR", std::string(300, 'a')}}), IsEmpty());
}

TEST(JobVariables, WhatTellsALaunchApartStaysHere) {
  const JobVariables all = {
      {"RANK", "1"}, {"PMIX_NAMESPACE", "mini1-4711@1"}, {"MLX_HOSTFILE", "/srv/jobs/hosts.json"}};
  EXPECT_THAT(public_variables(all), ElementsAre(Pair("RANK", "1")));
}

TEST(JobVariables, TheInnermostLauncherSaysTheRank) {
  const auto place = place_of(JobVariables{{"SLURM_PROCID", "0"},
                                           {"OMPI_COMM_WORLD_RANK", "2"},
                                           {"OMPI_COMM_WORLD_SIZE", "4"},
                                           {"RANK", "7"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 2);
  EXPECT_EQ(place->size, 4);
  EXPECT_EQ(place->rank_name, "OMPI_COMM_WORLD_RANK");
  EXPECT_FALSE(place_of(JobVariables{{"WORLD_SIZE", "4"}}));
  EXPECT_FALSE(place_of(JobVariables{{"RANK", "-1"}}));
  EXPECT_FALSE(place_of(JobVariables{{"RANK", "99999999999999999999"}}));
}

TEST(JobVariables, AWordForNoIdIsNoIdentity) {
  EXPECT_THAT(identities_of({{"TORCHELASTIC_RUN_ID", "none"}, {"MASTER_PORT", "29500"}}),
              ElementsAre("MASTER_PORT=29500"));
  // The steps of one allocation are different jobs.
  EXPECT_THAT(identities_of({{"SLURM_JOB_ID", "7"}}), IsEmpty());
  EXPECT_THAT(identities_of({{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}}),
              ElementsAre("SLURM=7.0"));
}

}  // namespace
}  // namespace plumbline
