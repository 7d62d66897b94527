// `plumbline results`: the verbs, each a function of its own file.

#include <array>

#include "cli/commands.h"
#include "cli/results_community.h"
#include "core/options.h"

namespace plumbline {
namespace {

struct VerbRow {
  const char* name;
  int (*run)(const Args& args, Context& context);
};
// The first one is meant when none is given.
constexpr std::array kVerbs = {VerbRow{"update", results_update}, VerbRow{"check", results_check}};

}  // namespace

int run_results(const Args& args, Context& context) {
  const std::string verb = args.get("verb", kVerbs.front().name);
  std::vector<std::string> names;
  for (const VerbRow& row : kVerbs) {
    if (verb == row.name) return row.run(args, context);
    names.emplace_back(row.name);
  }
  const std::string near = nearest_name(verb, names);
  return usage_failure(context,
                       Error{ErrorCode::kUsage, "results '" + verb + "'", 0,
                             near.empty() ? "update or check" : "did you mean " + near + "?", ""});
}

}  // namespace plumbline
