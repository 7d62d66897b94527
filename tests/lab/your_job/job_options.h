// What every job of this folder is told on its command line, and the file into which a rank writes
// how far it is: the harness reads that file, since a launcher that hangs passes no output on.
//   MODE SECONDS WHO LOG_FOLDER
// MODE: steps    small and large collectives, one after the other
//       compute  the same, with 30 s of work of WHO between two operations, for which the others
//       wait idle     two operations, then nothing until the end: a server without a request load
//       WHO reads its model for 20 s before it joins unread   when connections stand, WHO never
//       reads again while a peer sends to it stay     as steps, but a rank that sees an error stays
//       where it is, as many frameworks do
// The job ends by itself after SECONDS, whatever has happened by then.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace your_job {

constexpr double kComputeSeconds = 30, kLoadSeconds = 20;
constexpr double kBeforeTheEnd = 3;  // a job that goes well ends by itself, before the alarm

inline double seconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

inline void pause_seconds(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Half of a processor, so that others of this machine have theirs.
inline void work_seconds(double seconds) {
  constexpr double kSlice = 0.01;
  const double end = seconds_now() + seconds;
  while (seconds_now() < end) {
    const double until = seconds_now() + kSlice;
    while (seconds_now() < until) {
    }
    pause_seconds(kSlice);
  }
}

inline std::string variable(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

struct Job {
  std::string mode, folder;
  int who = 0;
  double end = 0;  // of what it does, in the seconds of seconds_now()
};

inline Job job_from(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s MODE SECONDS WHO LOG_FOLDER\n", argv[0]);
    std::exit(64);
  }
  const double seconds = std::atof(argv[2]);
  alarm(static_cast<unsigned>(seconds));  // whatever hangs: SIGALRM ends it
  return {argv[1], argv[4], std::atoi(argv[3]), seconds_now() + seconds - kBeforeTheEnd};
}

// Lines are there as soon as they are written.
inline FILE* rank_log(const Job& job, const std::string& rank) {
  const std::string path = job.folder + "/rank." + rank;
  FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    std::perror(path.c_str());
    std::exit(65);
  }
  std::setvbuf(file, nullptr, _IOLBF, 0);
  return file;
}

}  // namespace your_job
