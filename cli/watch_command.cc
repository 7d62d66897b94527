// `plumbline watch`: what hosts and links do right now, once a second: a picture on a terminal,
// lines of JSON elsewhere. Agents read, and nothing else.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <optional>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/live_screen.h"
#include "cli/options_source.h"
#include "cli/plain_caller.h"
#include "cli/scenario_source.h"
#include "cli/terminal.h"
#include "cli/watch_view.h"
#include "core/clock.h"
#include "core/text.h"
#include "core/units.h"
#include "probes/gather/host_watcher.h"
#include "runs/doctor_run.h"
#include "runs/hosts/agent_set.h"

namespace plumbline {
namespace {

constexpr int64_t kEveryNs = kSecond;
// After a look began: answers of a network of this size are there, and are shown together.
constexpr int64_t kAnswersNs = 200 * kMillisecond;
constexpr int64_t kStartAgainMs = 3000;
constexpr int kPauseMs = 200;  // between looks at keys, signals and the terminal's size
constexpr int64_t kMostLooks = 1'000'000'000;

struct WatchLimits {
  int64_t looks = kMostLooks;
  int64_t for_ns = std::numeric_limits<int64_t>::max() / 2;
};

Expected<WatchLimits> limits_of(const Args& args) {
  WatchLimits limits;
  const Expected<int64_t> looks = flag_number(args, "count", kMostLooks, 1, kMostLooks);
  if (!looks) return fail(looks.error());
  limits.looks = *looks;
  if (args.has("for")) {
    const Expected<int64_t> ns = parse_duration(args.get("for"));
    if (!ns || *ns <= 0) {
      return fail(usage_error("--for '" + args.get("for") + "' is no length of time",
                              "write a number and a unit: 30s, 5m, 1h"));
    }
    limits.for_ns = *ns;
  }
  return limits;
}

std::string clock_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// What is looked at, when the next picture is due, and when all ends.
class Watch {
 public:
  Watch(LiveWatcher& watcher, const WatchLimits& limits) : watcher_(watcher), limits_(limits) {
    watcher_.start(kEveryNs);
  }
  int64_t due_in_ns() const { return next_ns_ - monotonic_ns(); }
  // What was seen since the last call. The very first look gives no rates, and is not counted.
  std::vector<LiveWatcher::Seen> next() {
    ++looks_;
    next_ns_ += kEveryNs * (1 + std::max<int64_t>(0, -due_in_ns()) / kEveryNs);
    return watcher_.take();
  }
  bool first() const { return looks_ == 1; }
  bool seen_enough() const { return looks_ > limits_.looks; }
  int64_t most_looks() const { return limits_.looks; }
  bool over() const { return monotonic_ns() - start_ns_ >= limits_.for_ns || interrupts() > 0; }
  int exit_code() {
    if (interrupts() > 0) return 130;
    const std::vector<LiveWatcher::Seen> seen = watcher_.take();
    return std::any_of(seen.begin(), seen.end(),
                       [](const auto& each) { return !each.host.lost.empty(); })
               ? 2
               : 0;
  }

 private:
  LiveWatcher& watcher_;
  const WatchLimits limits_;
  const int64_t start_ns_ = monotonic_ns();
  int64_t next_ns_ = start_ns_ + kAnswersNs;
  int64_t looks_ = 0;
};

// Lines of each host, as many as are wanted.
class WatchLines {
 public:
  WatchLines(std::ostream& out, int64_t most) : out_(out), most_(most) {}

  // `first`: of all looks, which gives no rates.
  void print(const std::vector<LiveWatcher::Seen>& seen, bool first) {
    const std::string time = utc_now_rfc3339();
    told_.resize(seen.size());
    for (size_t i = 0; i < seen.size(); ++i) {
      Told& told = told_[i];
      // A host that is slow has a line when it has answered.
      if (seen[i].looks == told.looks || told.lines == most_) continue;
      const bool no_rates = seen[i].looks == 1 && seen[i].host.lost.empty();
      told.looks = seen[i].looks;
      if (first || no_rates) continue;
      ++told.lines;
      out_ << watch_json_line(seen[i].host, time) << "\n";
    }
    out_.flush();
  }
  bool all_there() const {
    return std::all_of(told_.begin(), told_.end(),
                       [this](const Told& told) { return told.lines == most_; });
  }

 private:
  struct Told {
    int64_t looks = 0, lines = 0;
  };
  std::ostream& out_;
  const int64_t most_;
  std::vector<Told> told_;  // by host
};

void print_lines(Watch& watch, Context& context) {
  WatchLines lines(*context.out, watch.most_looks());
  while (!watch.over() && *context.out) {
    if (const int64_t wait = watch.due_in_ns(); wait > 0) {
      const int64_t ns = std::min<int64_t>(wait, kPauseMs * kMillisecond);
      const timespec pause{0, static_cast<long>(ns)};
      nanosleep(&pause, nullptr);
      continue;
    }
    const std::vector<LiveWatcher::Seen> seen = watch.next();
    lines.print(seen, watch.first());
    if (lines.all_there()) return;
  }
}

// The picture and what the user does with it.
class WatchScreen {
 public:
  explicit WatchScreen(Context& context) : screen_(*context.out) { view_.colour = context.colour; }

  void take(std::vector<LiveWatcher::Seen> seen) {
    const std::string time = clock_text();
    std::vector<LiveHost> hosts;
    for (LiveWatcher::Seen& each : seen) {
      for (const HostChange& change : each.host.changes) {
        view_.events.push_back({time, each.host.name + ": " + change.text});
        if (view_.events.size() > kMostWatchEvents) view_.events.pop_front();
      }
      hosts.push_back(std::move(each.host));
    }
    if (view_.paused) return;
    hosts_ = std::move(hosts);
    view_.time = time;
    changed_ = true;
  }
  // False: the user has had enough, or the terminal is gone.
  bool serve(int64_t wait_ns) {
    const int64_t ms = std::clamp<int64_t>(wait_ns / kMillisecond + 1, 1, kPauseMs);
    for (const char byte : screen_.keys(static_cast<int>(ms))) {
      if (!obey(keys_.take(byte))) return false;
    }
    draw();
    return !screen_.gone();
  }

 private:
  bool obey(WatchKey key) {
    if (key == WatchKey::kNone) return true;
    changed_ = true;
    const size_t page = static_cast<size_t>(std::max(1, view_.height / 2));
    switch (key) {
      case WatchKey::kQuit:
        return false;
      case WatchKey::kPause:
        view_.paused = !view_.paused;
        break;
      case WatchKey::kSort:
        view_.sort = next_sort(view_.sort);
        break;
      case WatchKey::kReverse:
        view_.reverse = !view_.reverse;
        break;
      case WatchKey::kUp:
      case WatchKey::kPageUp:
        view_.first -= std::min(view_.first, key == WatchKey::kUp ? 1 : page);
        break;
      default:
        view_.first += key == WatchKey::kDown ? 1 : page;
        break;
    }
    return true;
  }
  void draw() {
    const int width = terminal_width(STDOUT_FILENO), height = terminal_height(STDOUT_FILENO);
    const bool resized = width != view_.width || height != view_.height;
    if (!changed_ && !resized && !LiveScreen::resumed()) return;
    changed_ = false;
    view_.width = width;
    view_.height = height;
    WatchView shown = view_;
    // A terminal that does not say how large it is; and some go to the next line at once when a
    // line is full.
    shown.width = (width > 0 ? width : 80) - 1;
    if (height <= 0) shown.height = 24;
    const std::vector<std::string> lines = watch_lines(hosts_, shown);
    view_.first = shown.first;
    screen_.show(lines, lines.size() < static_cast<size_t>(shown.height));
  }

  LiveScreen screen_;
  WatchKeys keys_;
  WatchView view_;
  std::vector<LiveHost> hosts_;
  bool changed_ = false;
};

void show_pictures(Watch& watch, Context& context) {
  WatchScreen screen(context);
  while (!watch.over() && !watch.seen_enough()) {
    if (watch.due_in_ns() <= 0) screen.take(watch.next());
    if (!screen.serve(watch.due_in_ns())) return;
  }
}

std::vector<LiveWatched> to_watch(const AgentSet& agents, const Job& job) {
  std::vector<LiveWatched> out;
  for (WatchedPlace& place : watched_hosts(agents, job)) {
    LiveWatched one;
    one.host = std::move(place.host);
    one.start_again = [&agents, index = place.index] {
      return agents.start_again(index, Deadline::after_ms(kStartAgainMs)).agent;
    };
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

int run_watch(const Args& args, Context& context) {
  if (args.has("file") && args.has("hosts")) {
    return usage_failure(context, usage_error("watch takes one FILE, or --hosts FILE", ""));
  }
  const Expected<WatchLimits> limits = limits_of(args);
  if (!limits) return usage_failure(context, limits.error());
  for (const char* name : {"file", "hosts"}) {
    if (args.has(name) && args.get(name).empty()) {
      return usage_failure(context, usage_error("the name of the host file is empty",
                                                "an unset variable of the shell?"));
    }
  }
  std::optional<Scenario> scenario = read_scenario_or_hosts(args, 1, context);
  if (!scenario) return 1;
  const auto options = resolve_options(args, scenario->config);
  if (!options) return usage_failure(context, options.error());
  PlainCaller caller(*context.err);
  const Expected<Reach> reach = make_reach(*options, scenario->hosts, caller);
  if (!reach) return usage_failure(context, reach.error());

  watch_interrupts();
  const AgentSet agents(scenario->hosts, *reach, *options);
  // Without data addresses only the routes to the peers are missing.
  if (auto found = agents.find_data_addresses()) scenario->hosts = std::move(*found);
  DiagnoseRequest request;
  request.scenario = &*scenario;
  request.options = &*options;
  std::vector<LiveWatched> hosts = to_watch(agents, job_of(request));
  const bool none = std::all_of(hosts.begin(), hosts.end(),
                                [](const LiveWatched& each) { return each.host.agent == nullptr; });
  if (none) {
    for (const LiveWatched& each : hosts) {
      *context.err << printable("plumbline: " + each.host.name + ": " + each.host.unreachable)
                   << "\n";
    }
    return interrupts() > 0 ? 130 : 2;
  }
  LiveWatcher watcher(std::move(hosts));
  Watch watch(watcher, *limits);
  if (!args.has("json") && context.out_is_terminal && can_show_pictures(STDOUT_FILENO)) {
    show_pictures(watch, context);
  } else {
    print_lines(watch, context);
  }
  return watch.exit_code();
}

}  // namespace plumbline
