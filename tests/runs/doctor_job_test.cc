// What of a scenario becomes the job that is diagnosed.
#include <gtest/gtest.h>

#include "runs/doctor_run.h"

namespace plumbline {
namespace {

TEST(JobOfScenario, HasTheCoordinatorOfTheHostFile) {
  Scenario scenario;
  scenario.hosts = local_hosts(2);
  const OptionSet options;
  DiagnoseRequest request;
  request.scenario = &scenario;
  request.options = &options;
  EXPECT_EQ(job_of(request).coordinator, "");
  scenario.coordinator = "192.168.4.11";
  EXPECT_EQ(job_of(request).coordinator, "192.168.4.11");
}

}  // namespace
}  // namespace plumbline
