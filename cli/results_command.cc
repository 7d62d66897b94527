// `plumbline results`: its verbs, one function each.

#include <fmt/format.h>

#include "cli/commands.h"
#include "core/options/options.h"
#include "core/text.h"

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
    return usage_failure(context, usage_error(fmt::format("results {}: unexpected argument '{}'",
                                                          verb, args.get("id")),
                                              "only show takes a run's id"));
  }
  std::vector<std::string> names;
  for (const VerbRow& row : kVerbs) {
    if (verb == row.name) return row.run(args, context);
    names.emplace_back(row.name);
  }
  return usage_failure(
      context,
      usage_error(fmt::format("results: no verb '{}'", verb),
                  near_or(verb, names, fmt::format("one of: {}", fmt::join(names, ", ")))));
}

}  // namespace plumbline
