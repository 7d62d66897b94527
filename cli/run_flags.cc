#include "cli/run_flags.h"

#include <fmt/format.h>

#include "cli/compare_rule.h"
#include "scenarios/repeat.h"

namespace plumbline {
namespace {

constexpr int kDefaultLaunches = 12;  // of --interleave: enough for a hundred cells

Error run_usage(const std::string& what, const std::string& hint) {
  return Error{ErrorCode::kUsage, what, 0, hint, ""};
}

}  // namespace

Expected<std::optional<SoakPlan>> soak_flags(const Args& args) {
  if (!args.has("for")) {
    for (const char* name : {"every", "idle"}) {
      if (args.has(name)) {
        return fail(run_usage(fmt::format("--{} goes with --for only", name),
                              "say how long to go on: --for 8h"));
      }
    }
    return std::optional<SoakPlan>();
  }
  if (args.has("resume")) {
    return fail(run_usage(
        "--resume: a soak cannot be resumed: between its parts nobody looked at the hosts, and a "
        "change there would look like a drift",
        "start another one with its own --out; plumbline report soak DIR1 DIR2 shows both"));
  }
  const Expected<SoakPlan> plan = parse_soak(args.get("for"), args.get("every"), args.get("idle"));
  if (!plan) return fail(plan.error());
  return std::optional<SoakPlan>(*plan);
}

Expected<std::optional<Repeats>> repeat_flags(const Args& args) {
  const size_t scenarios = args.all("scenario").size();
  const bool two = args.has("interleave");
  if (scenarios > 2 || (scenarios == 2) != two) {
    return fail(
        run_usage(two ? "--interleave takes two scenarios" : "run takes one scenario",
                  "plumbline run --repeat 10 --interleave A.json B.json measures two in turns"));
  }
  if (!two && !args.has("repeat")) {
    if (!args.has("recheck")) return std::optional<Repeats>();
    return fail(
        run_usage("--recheck goes with --interleave only", "add --interleave A.json B.json"));
  }
  if (args.has("for")) {
    return fail(run_usage("--repeat and --interleave cannot be part of a soak (--for)",
                          "leave one of them out"));
  }
  Repeats flags;
  flags.two_sides = two;
  flags.strict = args.has("strict");
  const auto launches = flag_number(args, "repeat", two ? kDefaultLaunches : 1, 1, kMostLaunches);
  if (!launches) return fail(launches.error());
  const auto again = flag_number(args, "recheck", 0, 0, kMostLaunches);
  if (!again) return fail(again.error());
  const auto rule = compare_rule(args);
  if (!rule) return fail(rule.error());
  flags.launches = static_cast<int>(*launches);
  flags.again = static_cast<int>(*again);
  flags.rule = *rule;
  return std::optional<Repeats>(std::move(flags));
}

Error no_repeat_under_launcher() {
  return run_usage(
      "--repeat and --interleave need ranks that plumbline starts itself",
      "under mpirun, srun or torchrun start the whole program again for each launch, each "
      "with its own --out, and compare the folders");
}

}  // namespace plumbline
