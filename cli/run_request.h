// The command line of `run` as the request that it makes.
#pragma once

#include <optional>
#include <vector>

#include "cli/args.h"
#include "runs/run_request.h"

namespace plumbline {

// What the flags say before any file is read.
struct RunFlags {
  std::optional<SoakPlan> soak;
  std::optional<Repeats> repeats;
  std::optional<LauncherPlace> place;
  std::optional<uint64_t> seed;
};
Expected<RunFlags> run_flags(const Args& args);

// --rules and --baseline.
RuleWords rule_words(const Args& args);

// One scenario, or the two of --interleave with the files of each in a folder of its own, and the
// cells of both in the same order. nullopt after printing what is wrong.
std::optional<std::vector<RunRequest>> run_requests(const Args& args, const RunFlags& flags,
                                                    Context& context, Caller& caller);

}  // namespace plumbline
