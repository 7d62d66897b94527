// `plumbline results`: its verbs, one function each.

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/results_community.h"
#include "cli/results_history.h"
#include "core/options/options.h"

namespace plumbline {
namespace {

struct VerbRow {
  const char* name;
  int (*run)(const Args& args, Context& context);
};
// The first one is meant when none is given.
constexpr VerbRow kVerbs[] = {
    {"update", results_update}, {"check", results_check}, {"list", results_list},
    {"show", results_show},     {"prune", results_prune},
};

}  // namespace

int run_results(const Args& args, Context& context) {
  const std::string verb = args.get("verb", kVerbs[0].name);
  if (args.has("id") && verb != "show") {
    return usage_failure(
        context, Error{ErrorCode::kUsage,
                       fmt::format("results {}: unexpected argument '{}'", verb, args.get("id")), 0,
                       "only show takes a run's id", ""});
  }
  std::vector<std::string> names;
  for (const VerbRow& row : kVerbs) {
    if (verb == row.name) return row.run(args, context);
    names.emplace_back(row.name);
  }
  const std::string near = nearest_name(verb, names);
  return usage_failure(context,
                       Error{ErrorCode::kUsage, fmt::format("results: no verb '{}'", verb), 0,
                             near.empty() ? fmt::format("one of: {}", fmt::join(names, ", "))
                                          : fmt::format("did you mean {}?", near),
                             ""});
}

}  // namespace plumbline
