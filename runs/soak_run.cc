#include "runs/soak_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "probes/gather/host_watcher.h"
#include "runs/hosts/agent_set.h"

namespace plumbline {
namespace {

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

// What the user sees while it runs. Main thread only.
class SoakScreen {
 public:
  explicit SoakScreen(const SoakRunSpec& spec) : spec_(spec) {}

  void phase(const std::string& text) {
    phase_ = text;
    show(RunProgress{});
  }
  void show(RunProgress progress) {
    if (spec_.quiet) return;
    progress.phase = phase_;
    progress.elapsed_s = static_cast<double>(spec_.events->now()) * 1e-9;
    spec_.caller->progress(progress);
  }

 private:
  const SoakRunSpec& spec_;
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
  RunNotices& events = *spec.events;
  if (const Status begun = events.begin(); !begun) return fail(begun.error());
  SoakScreen screen(spec);
  std::atomic<int64_t> round{0};
  HostWatcher watcher(hosts_of(spec), [&](const std::string& host, const HostChange& change) {
    SoakEvent event;
    event.at_ns = events.now();
    event.round = round.load();
    event.host = host;
    event.kind = change.kind;
    event.subject = change.subject;
    event.text = change.text;
    events.add(std::move(event), !spec.quiet);
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
  request.tell = [&](SoakEvent event) { events.add(std::move(event), !spec.quiet); };
  request.phase = [&](const std::string& text) { screen.phase(text); };
  Expected<SoakSummary> summary = run_soak(request, ranks);
  watcher.look();  // what the last round did
  return summary;
}

}  // namespace plumbline
