// `plumbline submit`: makes of a run's records a bundle that can be published.

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "cli/commands.h"
#include "cli/community.h"
#include "cli/submit_questions.h"
#include "core/file.h"
#include "core/json.h"
#include "reports/publish/bundle_build.h"
#include "reports/read_input.h"
#include "reports/text.h"
#include "runs/run_folder.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// Scenarios whose names say nothing about anybody, because they ship with plumbline.
const std::vector<std::string>& shipped_scenarios() {
  static const std::vector<std::string> kNames = {"submit",        "quickstart",
                                                  "serving",       "benchmark_matrix",
                                                  "smoke",         "nightly",
                                                  "jaccl_mesh",    "thunderbolt_star",
                                                  "mccl_two_node", "soak",
                                                  "link_matrix",   "rdma_matrix",
                                                  "coll",          "collective_check",
                                                  "compression"};
  return kNames;
}

Expected<ReportInput> read_run(const std::string& path) {
  const std::string file = records_in(path);
  ReportInput input;
  if (const Status read = read_report_input({file}, input); !read) return fail(read.error());
  if (!input.soaks.empty()) {
    return fail(ErrorCode::kConfig, path + " is a soak, whose rows are one round each",
                "submit a run without --for");
  }
  if (input.records.empty()) {
    return fail(ErrorCode::kConfig, file + " holds no records",
                "give the folder of a finished run");
  }
  return input;
}

// Names that only this machine knows as such. Its own first: who is called as the machine is would
// be taken for a user.
OwnNames own_names() {
  OwnNames own;
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) == 0) own.names.learn_host(name);
  for (const char* variable : {"USER", "LOGNAME", "SUDO_USER"}) {
    if (const char* value = std::getenv(variable)) own.names.learn_user(value);
  }
  if (const char* home = std::getenv("HOME")) {
    own.home = home;
    own.names.learn_from(home);
    own.names.learn_user(fs::path(home).filename().string());
  }
  if (const passwd* user = getpwuid(getuid())) own.names.learn_user(user->pw_name);
  return own;
}

// Shows what is wrong with what would be published; the run itself is the reason, or the statement.
int refuse(const BundleReport& report, Context& context) {
  *context.err << "plumbline: verify would reject this bundle, so nothing is written:\n";
  for (const BundleIssue& issue : report.problems) {
    *context.err << fmt::format("  {}: {} {}\n", issue.kind, clean(issue.path), clean(issue.text));
  }
  return kWrongContent;
}

// As verify does, with the folder's other bundles: the same run may not stand there already.
BundleReport verify_beside(const std::string& text, const std::string& folder) {
  std::vector<BundleReport> reports = {verify_bundle(text, "")};
  if (const auto files = bundle_files(folder)) {
    for (const std::string& file : *files) {
      const auto other = read_bundle_file(file);
      if (!other || fs::path(file).stem() == reports.front().id) continue;
      BundleReport report = verify_bundle(*other, file);
      if (report.sound()) reports.push_back(std::move(report));
    }
  }
  compare_bundles(reports);
  return reports.front();
}

struct Asker {
  std::istream* in = nullptr;  // null: nobody is there
  std::ostream& out;
};

// Whether the submitter has seen it and wants it.
int agreed(const Args& args, const Asker& asker, const std::string& path, Context& context) {
  if (args.has("yes")) return 0;
  if (asker.in == nullptr) {
    return usage_failure(context, usage_error("nothing is written: there is no terminal to ask on",
                                              "look at the above, then add --yes"));
  }
  if (confirm(*asker.in, asker.out, "Write this to " + path + "?")) return 0;
  *context.err << "plumbline: nothing is written\n";
  return 1;
}

int publish(const BuiltBundle& built, const Args& args, const Asker& asker, Context& context) {
  nlohmann::json document = *built.document;
  if (args.has("sign")) {
    const auto signature = sign_bundle(canonical_text(document["content"]), args.get("sign"));
    if (!signature) return usage_failure(context, signature.error());
    document["signature"] = *signature;
  }
  const std::string text = bundle_text(document);
  const std::string folder = args.get("out", kCommunityFolder);
  BundleReport report = verify_beside(text, folder);
  if (!report.sound()) return refuse(report, context);
  flag_future(report);
  const std::string path = (fs::path(folder) / (report.id + ".json")).string();
  *context.out << bundle_text(document, true)
               << fmt::format("This is all of it, but for the counts in the buckets: {} bytes.\n",
                              text.size());
  for (const std::string& note : built.notes) *context.out << clean(note) << "\n";
  for (const BundleIssue& flag : report.flags) {
    *context.out << fmt::format("flag {}: {} {}\n", flag.kind, flag.path, flag.text);
  }
  std::error_code code;
  const bool new_folder = !fs::exists(folder, code);
  if (new_folder) {
    *context.out << "The folder " << folder << " does not exist and will be made: bundles belong "
                 << "into a clone of the repository, or say --out\n";
  }
  if (const int status = agreed(args, asker, path, context); status != 0) return status;
  fs::create_directories(fs::path(path).parent_path(), code);  // what failed, writing will tell
  if (const Status written = replace_text_file(path, text, "choose another --out"); !written) {
    return usage_failure(context, written.error());
  }
  if (new_folder) {
    *context.out << "Folder: " << fs::absolute(folder, code).lexically_normal().string()
                 << " is new\n";
  }
  *context.out << "Bundle: " << path
               << "\nNext:   a pull request with this one file (docs/submitting.md)\n";
  return 0;
}

}  // namespace

int run_submit(const Args& args, Context& context) {
  const bool terminal = isatty(STDIN_FILENO) != 0 && context.err_is_terminal;
  const Asker asker{terminal ? &std::cin : nullptr, *context.err};
  const auto input = read_run(args.get("run"));
  if (!input) return usage_failure(context, input.error());
  for (const std::string& note : input->notes) *context.err << "plumbline: " << clean(note) << "\n";
  const auto refused = [&](const Error& error) {
    usage_failure(context, error);
    return error.code == ErrorCode::kWrongData ? kWrongContent : 1;
  };
  // Nobody answers questions about a run that cannot be published.
  if (const Status judged = judge_rows(input->records); !judged) return refused(judged.error());
  const OwnNames own = own_names();
  const auto statement = ask_statement(args, own, asker.in, asker.out);
  if (!statement) return usage_failure(context, statement.error());
  Redactor redactor = own.names;  // the records may hold them too
  redactor.know_words(transport_choices());
  const auto built = build_bundle(input->records, *statement, shipped_scenarios(), redactor);
  if (!built) return refused(built.error());
  return publish(*built, args, asker, context);
}

}  // namespace plumbline
