// The command line of `run` as the request that it makes; of its flags also those that say how
// often (in rounds, again and again, on two sides in turns), and those of a comparison, which
// `compare` shares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/args.h"
#include "reports/compare/compare.h"
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

// The flags --for, --every and --idle; nothing without --for. An Error for one that does not make
// sense, alone or with others (--resume).
Expected<std::optional<SoakPlan>> soak_flags(const Args& args);

// The flags --repeat, --interleave, --recheck and those of the comparison; nothing without the
// first two. An Error for one that does not make sense, alone or with others.
Expected<std::optional<Repeats>> repeat_flags(const Args& args);
Error no_repeat_under_launcher();

// --min-effect, --alpha and --ignore; an Error names the flag and what it takes.
Expected<CompareRule> compare_rule(const Args& args);

// The fields of a cell that --ignore may name.
std::vector<std::string> cell_fields();

}  // namespace plumbline
