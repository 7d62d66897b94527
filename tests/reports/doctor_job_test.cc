// A job as `doctor --job` shows it before its findings.
#include "reports/doctor_job.h"

#include <gmock/gmock.h>

#include "reports/doctor.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

DoctorJob two_ranks() {
  DoctorJob job;
  job.asked = ":29500";
  job.size = 2;
  for (int rank = 0; rank < 2; ++rank) {
    DoctorJobRank one;
    one.rank = rank;
    one.host = rank == 0 ? "a" : "b";
    one.pid = 100 + rank;
    one.program = "python3";
    one.doing = "sleeps in poll";
    one.listens = {"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3", "10.0.0.1:4", "10.0.0.1:5"};
    one.connections = 1;
    job.ranks.push_back(one);
  }
  job.unseen = {"c: no agent"};
  return job;
}

TEST(DoctorJobText, ALineForTheJobEachRankAndWhatIsNotSeen) {
  EXPECT_THAT(
      job_lines(two_ranks()),
      testing::ElementsAre("job :29500: 2 of 2 ranks on 2 hosts",
                           "rank 0 on a: PID 100, python3, sleeps in poll; listens on "
                           "10.0.0.1:1, 10.0.0.1:2, 10.0.0.1:3, 10.0.0.1:4, ...; 1 connection",
                           HasSubstr("rank 1 on b: PID 101"), "not seen: c: no agent"));
}

TEST(DoctorJobText, NumbersAreAbsentWhereAJobGivesNone) {
  DoctorJob job;
  job.asked = "7";
  job.ranks.resize(1);
  EXPECT_THAT(job_lines(job).front(), HasSubstr("job 7: 1 process on 1 host"));
}

TEST(DoctorJobText, AThousandRanksAreNotAThousandLines) {
  DoctorJob job;
  job.ranks.resize(1000);
  EXPECT_LT(job_lines(job).size(), 40u);
  EXPECT_THAT(job_lines(job).back(), HasSubstr("968 more"));
}

TEST(DoctorJobText, AHostileNameMovesNoCursor) {
  DoctorReport report;
  report.job = two_ranks();
  report.job->ranks[0].program = "x\x1b[2J\ny";
  report.job->asked = "\x1b]0;evil";
  EXPECT_THAT(doctor_text(report, 80, false), Not(HasSubstr("\x1b")));
  EXPECT_THAT(doctor_json(report), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace plumbline
