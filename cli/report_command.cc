// `plumbline report`: any report from the record files of finished runs, and from what other tools
// printed.

#include <filesystem>
#include <iostream>
#include <set>

#include "cli/commands.h"
#include "cli/kept_rules.h"
#include "cli/plain_caller.h"
#include "cli/run_request.h"
#include "cli/vocabulary.h"
#include "core/text.h"
#include "reports/read_input.h"
#include "reports/report.h"
#include "runs/report_output.h"
#include "runs/run_folder.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> record_paths(const std::vector<std::string>& files) {
  std::vector<std::string> paths;
  for (const std::string& file : files) paths.push_back(records_in(file));
  return paths;
}

Expected<ReportInput> read_input(const std::vector<std::string>& paths, const Assumptions& assume) {
  ReportInput input;
  if (const Status read = read_report_input(paths, input, assume); !read) return fail(read.error());
  std::set<fs::path> folders;
  for (const std::string& path : paths) {
    if (path == "-") continue;  // comes from nowhere: what lies in this folder is not its story
    const fs::path folder = fs::path(path).parent_path();
    if (folders.insert(folder).second)
      read_run_folder(folder.empty() ? "." : folder.string(), input);
  }
  return input;
}

// Rules kept beside the records, then those that were named. True when all hold.
bool judge(const RuleRequest& given, const std::vector<std::string>& paths,
           const Assumptions& assume, const Args& args, ReportInput& input, Context& context) {
  PlainCaller caller(*context.err);
  const std::string baseline = args.get("baseline");
  const std::vector<KeptRules> kept = kept_rules(paths, given, baseline, input);
  std::vector<const RuleRequest*> all = {&given};
  for (const KeptRules& rules : kept) all.push_back(&rules.request);
  note_unused_baseline(all, baseline, caller);
  const bool kept_hold = apply_kept_rules(kept, assume, input, caller);
  return apply_rules(given, input, caller) && kept_hold;
}

Status write_to(const ReportRow& row, const ReportInput& input, const std::string& out,
                Context& context) {
  const std::string file_name = row.file_name;
  const bool folder = !file_name.empty() && file_name.back() == '/';
  if (!folder && !out.empty()) return write_report_file(row, input, out);
  ReportTarget target;
  target.directory = !folder ? "" : out.empty() ? file_name : out;
  target.out = context.out;
  target.width = context.width;
  target.colour = context.out_colour;
  const auto written = row.write(input, target);
  if (!written) return fail(written.error());
  if (folder && written->empty()) {
    return fail(ErrorCode::kConfig, "nothing to write: the records hold nothing that this shows",
                "plumbline list reports says what each is for");
  }
  for (const std::string& path : *written) *context.out << path << "\n";
  return {};
}

}  // namespace

int run_report(const Args& args, Context& context) {
  const std::string name = args.get("name");
  const ReportRow* row = find_report(name);
  if (row == nullptr) {
    std::vector<std::string> names;
    for (const ReportRow& known : report_table()) names.push_back(known.descriptor.name);
    return usage_failure(context, usage_error("no report '" + name + "'",
                                              near_or(name, names, "see plumbline list reports")));
  }
  const Expected<Assumptions> assume = parse_assumptions(args.all("assume"));
  if (!assume) return usage_failure(context, assume.error());
  const std::vector<std::string> paths = record_paths(args.all("file"));
  const auto rules = read_rules({}, rule_words(args), make_vocabulary());
  if (!rules) return usage_failure(context, rules.error());
  Expected<ReportInput> input = read_input(paths, *assume);
  if (!input) return usage_failure(context, input.error());
  const bool rules_hold = judge(*rules, paths, *assume, args, *input, context);
  for (const std::string& note : input->notes)
    *context.err << "plumbline: " << printable(note) << "\n";
  for (const std::string& text : input->incomplete) {
    *context.err << "plumbline: incomplete: " << printable(text) << "\n";
  }
  const Status written = write_to(*row, *input, args.get("out"), context);
  if (!written) return usage_failure(context, written.error());
  return rules_hold ? 0 : 4;
}

}  // namespace plumbline
