#include "cli/compare_rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/json.h"
#include "core/options/options.h"
#include "core/units.h"

namespace plumbline {
namespace {

Expected<double> share_flag(const Args& args, const char* name, double otherwise, double least,
                            double most) {
  if (!args.has(name)) return otherwise;
  const Expected<double> value = parse_share(args.get(name));
  if (value && *value >= least && *value <= most) return *value;
  return fail(
      ErrorCode::kUsage, fmt::format("--{} '{}'", name, args.get(name)),
      fmt::format("takes a share from {:g}% to {:g}%, as 2% or 0.02", 100 * least, 100 * most));
}

}  // namespace

std::vector<std::string> cell_fields() {
  const nlohmann::json cell = Cell{};
  std::vector<std::string> names;
  for (const auto& [name, value] : cell.items()) names.push_back(name);
  names.insert(names.end(), {"measure", "rate_bps", "hosts", "distribution"});
  return names;
}

Expected<CompareRule> compare_rule(const Args& args) {
  CompareRule rule;
  const auto effect = share_flag(args, "min-effect", rule.least_effect, 0, 10);
  if (!effect) return fail(effect.error());
  const auto alpha = share_flag(args, "alpha", rule.alpha, 0.0001, 0.5);
  if (!alpha) return fail(alpha.error());
  rule.least_effect = *effect;
  rule.alpha = *alpha;
  const std::vector<std::string> fields = cell_fields();
  for (const std::string& field : args.all("ignore")) {
    if (std::find(fields.begin(), fields.end(), field) == fields.end()) {
      const std::string near = nearest_name(field, fields);
      return fail(ErrorCode::kUsage, "--ignore '" + field + "': a cell has no such field",
                  near.empty() ? fmt::format("one of {}", fmt::join(fields, ", "))
                               : "did you mean " + near + "?");
    }
    rule.ignore.insert(field);
  }
  return rule;
}

}  // namespace plumbline
