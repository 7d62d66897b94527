// What a report keeps of a soak (`run --for`): one bounded series per cell (or per direction of a
// link) over the rounds, the cold and warm times behind idle time, the memory of every process, and
// the events. Filled record by record, so that a file of any length can be read. No judging: see
// soak_verdict.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/record/event.h"
#include "core/record/record.h"
#include "core/stats/trend.h"

namespace plumbline {

enum class SoakUnit { kTime, kRate, kPerSecond, kShare };  // ns, bytes/s, operations/s, 0 to 1

// One number over the rounds; x = hours since the start of the soak.
struct SoakTrack {
  std::string what;  // "latency allreduce ring, 2 ranks, tcp, 64 KiB f32 sum, out of place"
  SoakUnit unit = SoakUnit::kTime;
  BoundedSeries series;
};

// One cell behind one length of idle time. Times in ns.
struct SoakCold {
  std::string what;
  int64_t idle_ns = 0;
  BoundedSeries meeting, warm_meeting, first, second, warm;
  size_t errors = 0;
};

struct SoakMemory {
  std::string process;   // "coordinator", "rank 0 on node1"
  BoundedSeries series;  // bytes
};

struct SoakRun {
  std::string run_id, scenario;
  int64_t rounds = 0;
  double hours = 0;  // from the start to the last record
  size_t records = 0, errors = 0;
  std::vector<SoakTrack> tracks;
  std::vector<SoakCold> colds;
  std::vector<SoakMemory> memories;
  std::vector<SoakEvent> events;  // the first kMostSoakEvents
  size_t events_left_out = 0;
};

inline constexpr size_t kMostSoakEvents = 10'000;

class SoakCollector {
 public:
  // False: the record belongs to no soak, and nothing was kept of it.
  bool take(const Record& record);
  void take(SoakEvent event);
  // In the order of their first records. Events of runs without records are dropped.
  std::vector<SoakRun> finish();

 private:
  SoakRun& run_of(const Record& record);
  SoakTrack& track(SoakRun& run, const std::string& key, const std::string& what, SoakUnit unit);
  void take_links(SoakRun& run, const Record& record);
  void take_cold(SoakRun& run, const Record& record);
  void take_memory(SoakRun& run, const Record& record);

  std::vector<SoakRun> runs_;
  std::map<std::string, size_t> run_index_, index_;  // by run id; by run id, cell and part
  std::vector<SoakEvent> events_;
  std::map<std::string, size_t> left_out_;  // by run id
};

}  // namespace plumbline
