// `plumbline compare`: did something get slower between two sets of records?

#include <array>
#include <filesystem>

#include "cli/commands.h"
#include "cli/run_request.h"
#include "reports/compare/compare.h"
#include "runs/comparing.h"
#include "runs/run_folder.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// Where the two sides lie: two arguments, one and --baseline, or the folder of run --interleave.
Expected<std::pair<std::string, std::string>> sides_of(const Args& args) {
  const std::vector<std::string> paths = args.all("records");
  const std::string baseline = args.get("baseline");
  if (!baseline.empty() && paths.size() == 1) return std::pair(baseline, paths[0]);
  if (baseline.empty() && paths.size() == 2) return std::pair(paths[0], paths[1]);
  if (baseline.empty() && paths.size() == 1 && is_interleaved(paths[0])) {
    const fs::path folder = paths[0];
    return std::pair((folder / "a").string(), (folder / "b").string());
  }
  return fail(ErrorCode::kUsage, "compare takes two sides",
              "plumbline compare A B, plumbline compare B --baseline A, or the folder of "
              "plumbline run --interleave");
}

}  // namespace

int run_compare(const Args& args, Context& context) {
  const auto sides = sides_of(args);
  if (!sides) return usage_failure(context, sides.error());
  const auto rule = compare_rule(args);
  if (!rule) return usage_failure(context, rule.error());
  std::error_code code;
  if (fs::equivalent(sides->first, sides->second, code)) {
    return usage_failure(context, usage_error("both sides are " + sides->first,
                                              "compare takes two runs, the old one first"));
  }
  CompareCollector collector(*rule);
  std::vector<std::string> notes;
  for (size_t side = 0; side < 2; ++side) {
    const Status read = read_side(collector, side, side == 0 ? sides->first : sides->second, notes);
    for (const std::string& note : notes) *context.err << "plumbline: " << note << "\n";
    notes.clear();
    if (!read) return usage_failure(context, read.error());
  }
  Comparison comparison = collector.finish();
  comparison.name_a = sides->first;
  comparison.name_b = sides->second;
  if (const Status common = check_common(comparison); !common) {
    return usage_failure(context, common.error());
  }
  note_incomplete(sides->first, "a", comparison);
  note_incomplete(sides->second, "b", comparison);
  if (args.has("json")) {
    *context.out << compare_json(comparison);
  } else if (args.has("markdown")) {
    render_markdown(compare_document(comparison), *context.out);
  } else {
    render_text(compare_document(comparison), context.width, context.out_colour, *context.out);
  }
  if (args.has("plot")) {
    std::vector<std::string> written;
    if (const Status drawn = draw_comparison(comparison, args.get("plot"), written); !drawn) {
      return usage_failure(context, drawn.error());
    }
    for (const std::string& path : written) *context.err << "plumbline: wrote " << path << "\n";
  }
  return compare_exit_code(comparison, args.has("strict"));
}

}  // namespace plumbline
