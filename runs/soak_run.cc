#include "runs/soak_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <mutex>
#include <utility>

#include "core/clock.h"
#include "core/record/event.h"
#include "probes/gather/host_watcher.h"
#include "runs/hosts/watched_hosts.h"

namespace plumbline {
namespace {

constexpr size_t kMostWaiting = 20;  // event lines for the screen; the file has them all

// Often enough to tell which round something belongs to, rarely enough to cost nothing.
int64_t look_every(const SoakPlan& plan) {
  return std::clamp(plan.every_ns / 4, kSecond / 2, 10 * kSecond);
}

std::vector<WatchedHost> hosts_of(const SoakRunSpec& spec) {
  std::vector<WatchedHost> hosts;
  for (WatchedPlace& place : watched_hosts(*spec.agents, spec.job)) {
    hosts.push_back(std::move(place.host));
  }
  return hosts;
}

// Events from the loop and from the watcher's thread, into the file and onto the screen.
class EventLog {
 public:
  EventLog(EventFile file, std::string run_id)
      : file_(std::move(file)), run_id_(std::move(run_id)) {}

  int64_t now() const { return monotonic_ns() - start_ns_; }

  void add(SoakEvent event) {
    event.run_id = run_id_;
    event.time = utc_now_rfc3339();
    const Status written = file_.append(event);
    const std::scoped_lock lock(mutex_);
    if (!written && failure_.empty()) {
      failure_ = written.error().message();
      lines_.push_back("events cannot be written: " + failure_);
    }
    if (lines_.size() >= kMostWaiting) return;
    lines_.push_back((event.host.empty() ? "" : event.host + ": ") + event.text);
  }

  std::deque<std::string> take_lines() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  EventFile file_;
  const std::string run_id_;
  const int64_t start_ns_ = monotonic_ns();
  std::mutex mutex_;
  std::deque<std::string> lines_;
  std::string failure_;
};

// What the user sees while it runs. Main thread only.
class SoakScreen {
 public:
  SoakScreen(const SoakRunSpec& spec, EventLog& events) : spec_(spec), events_(events) {}

  void phase(const std::string& text) {
    phase_ = text;
    show(RunProgress{});
  }
  void show(RunProgress progress) {
    if (spec_.quiet) return;
    for (const std::string& line : events_.take_lines()) {
      spec_.caller->say("plumbline: " + line);
    }
    progress.phase = phase_;
    progress.elapsed_s = static_cast<double>(events_.now()) * 1e-9;
    spec_.caller->progress(progress);
  }

 private:
  const SoakRunSpec& spec_;
  EventLog& events_;
  std::string phase_;
};

}  // namespace

std::string soak_outline(const SoakPlan& soak, const Plan& plan) {
  const int64_t starts = (soak.for_ns + soak.every_ns - 1) / soak.every_ns;
  std::string text = fmt::format("for {}: at most {} rounds, one every {}, each about {}",
                                 soak_time_text(soak.for_ns), starts, soak_time_text(soak.every_ns),
                                 soak_time_text(static_cast<int64_t>(plan.estimated_s * 1e9)));
  std::vector<std::string> idle;
  for (const int64_t ns : soak.idle_ns) idle.push_back(soak_time_text(ns));
  if (!idle.empty())
    text += fmt::format("; idle time after each: {}, in turn", fmt::join(idle, ", "));
  if (plan.estimated_s * 1e9 > static_cast<double>(soak.every_ns)) {
    text += "; a round takes longer than that: starts will be passed over";
  }
  return text + "\n";
}

Expected<SoakSummary> soak(const SoakRunSpec& spec, CellRunner& ranks) {
  const std::string path = (std::filesystem::path(spec.folder) / kEventsFile).string();
  Expected<EventFile> file = EventFile::open(path);
  if (!file) return fail(file.error());
  EventLog events(std::move(*file), spec.run.run_id);
  SoakScreen screen(spec, events);
  std::atomic<int64_t> round{0};
  HostWatcher watcher(hosts_of(spec), [&](const std::string& host, const HostChange& change) {
    SoakEvent event;
    event.at_ns = events.now();
    event.round = round.load();
    event.host = host;
    event.kind = change.kind;
    event.subject = change.subject;
    event.text = change.text;
    events.add(std::move(event));
  });
  watcher.look();  // how things are before anything is measured
  watcher.start(look_every(spec.plan));
  const std::unique_ptr<SoakClock> clock = make_soak_clock();
  SoakRequest request;
  request.run = spec.run;
  request.run.progress = [&](const RunProgress& progress) { screen.show(progress); };
  request.plan = spec.plan;
  request.clock = clock.get();
  request.round_begins = [&](int64_t number) {
    round.store(number);
    watcher.set_round(number);
  };
  request.tell = [&](SoakEvent event) { events.add(std::move(event)); };
  request.phase = [&](const std::string& text) { screen.phase(text); };
  Expected<SoakSummary> summary = run_soak(request, ranks);
  watcher.look();  // what the last round did
  return summary;
}

}  // namespace plumbline
