#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/commands.h"
#include "cli/community.h"
#include "core/file.h"
#include "reports/publish/results_page.h"
#include "reports/text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct Page {
  std::string text, chart;  // what the bundles give
  int status = 0;           // not 0: they are no good, and the reasons are printed
};

std::string folder_of(const Args& args) { return args.get("folder", kCommunityFolder); }
std::string page_file_of(const Args& args) { return args.get("page", "RESULTS.md"); }

// Beside the page: RESULTS.svg.
std::string chart_file_of(const std::string& page) {
  fs::path chart = page;
  if (chart.extension() == ".md") chart.replace_extension();
  return chart.string() + ".svg";
}

// The folder as a link on the page must name it.
std::string link_to(const std::string& folder, const std::string& page) {
  std::error_code code;
  const fs::path from = fs::absolute(page, code).lexically_normal().parent_path();
  const std::string link =
      fs::absolute(folder, code).lexically_normal().lexically_relative(from).generic_string();
  return link.empty() ? folder : link;
}

Page failed(Context& context, const Error& error) {
  Page page;
  page.status = usage_failure(context, error);
  return page;
}

// Of these bundles alone. `quiet`: what is wrong with them has been said.
Page make_page(const Args& args, const std::vector<std::string>& files, bool quiet,
               Context& context) {
  Page page;
  const auto allowed = allowed_signers_of(args, folder_of(args) + "/" + kAllowedSigners);
  if (!allowed) return failed(context, allowed.error());
  const auto bundles = verify_files(files, *allowed);
  if (!bundles) return failed(context, bundles.error());
  PageOptions options;
  options.folder = link_to(folder_of(args), page_file_of(args));
  options.chart = fs::path(chart_file_of(page_file_of(args))).filename().string();
  std::vector<BundleReport> reports;
  for (const VerifiedBundle& bundle : *bundles) {
    const bool odd = !bundle.report.sound() || !bundle.report.flags.empty();
    if (odd && !quiet) *context.err << verdict_text(bundle);
    if (!bundle.report.sound()) page.status = kWrongContent;
    if (bundle.signature.state == SignatureCheck::State::kNotChecked && page.status == 0) {
      return failed(
          context,
          Error{ErrorCode::kUnsupported,
                "check the signature of " + bundle.report.file + ": " + bundle.signature.why, 0,
                "the page says who signed, so it needs ssh-keygen (openssh-client)", ""});
    }
    options.signatures[bundle.report.id] = bundle.signature.text();
    options.signers[bundle.report.id] = bundle.signature.signer();
    reports.push_back(bundle.report);
  }
  if (page.status != 0) return page;
  page.text = results_page(reports, options);
  page.chart = results_chart(reports, options);
  return page;
}

Page make_page(const Args& args, Context& context) {
  const auto files = bundle_files(folder_of(args));
  if (!files) return failed(context, files.error());
  return make_page(args, *files, false, context);
}

std::string read_whole(const std::string& path) {
  constexpr size_t kMostBytes = 64 << 20;
  return read_input_file(path, kMostBytes).value_or("");
}

// Ids of the bundles that a page lists, in its last table.
std::set<std::string> listed_in(const std::string& page) {
  constexpr size_t kIdDigits = 16;
  std::set<std::string> ids;
  size_t at = page.find("\n## Bundles\n");
  while (at != std::string::npos) {
    at = page.find("\n| [", at + 1);
    if (at == std::string::npos) break;
    ids.insert(page.substr(at + 4, kIdDigits));
  }
  return ids;
}

struct Pending {
  std::vector<std::string> files, ids;  // files: of the bundles that the page lists
  std::string missing;                  // listed, but not in the folder
};

Expected<Pending> pending_in(const std::string& folder, const std::string& page) {
  const auto files = bundle_files(folder);
  if (!files) return fail(files.error());
  Pending out;
  std::set<std::string> listed = listed_in(page);
  for (const std::string& file : *files) {
    const std::string id = fs::path(file).stem().string();
    if (listed.erase(id) > 0) {
      out.files.push_back(file);
    } else {
      out.ids.push_back(id);
    }
  }
  if (!listed.empty()) out.missing = clean(*listed.begin());
  return out;
}

int differs(const std::string& is, const std::string& should, const std::string& what,
            Context& context) {
  const auto at = std::mismatch(is.begin(), is.end(), should.begin(), should.end());
  const auto line = 1 + std::count(is.begin(), at.first, '\n');
  *context.err << fmt::format("plumbline: {}, from line {} on; run plumbline results update\n",
                              what, line);
  return kWrongContent;
}

// A pull request brings bundles and leaves the page alone: then the page must be, byte for byte,
// what the bundles give that it lists.
int check_without_new(const Args& args, const std::string& is, Context& context) {
  const std::string folder = folder_of(args), file = page_file_of(args);
  const auto pending = pending_in(folder, is);
  if (!pending) return usage_failure(context, pending.error());
  if (!pending->missing.empty()) {
    *context.err << fmt::format("plumbline: {} lists the bundle {}, which is not in {}\n", file,
                                pending->missing, folder);
    return kWrongContent;
  }
  const Page page = make_page(args, pending->files, true, context);
  if (page.status != 0) return page.status;
  const std::string what = " is not what the bundles give that the page lists";
  if (is != page.text) return differs(is, page.text, file + what, context);
  // A request that brings no picture is none the worse: results update draws it.
  const std::string chart_file = chart_file_of(file);
  const std::string chart = fs::exists(chart_file) ? read_whole(chart_file) : page.chart;
  if (chart != page.chart) return differs(chart, page.chart, chart_file + what, context);
  *context.out << fmt::format("{} is what {} gives without {} new bundle{}: {}\n", file, folder,
                              pending->ids.size(), pending->ids.size() == 1 ? "" : "s",
                              join(pending->ids, ", "));
  return 0;
}

}  // namespace

int results_update(const Args& args, Context& context) {
  const Page page = make_page(args, context);
  if (page.status != 0) return page.status;
  const std::string file = page_file_of(args), chart_file = chart_file_of(file);
  // The page last: whoever reads it finds its picture.
  for (const auto& [path, text] : {std::pair(chart_file, page.chart), std::pair(file, page.text)}) {
    if (read_whole(path) == text) {
      *context.out << path << " is up to date\n";
      continue;
    }
    const Status written = replace_text_file(path, text, "choose a writable --page");
    if (!written) return usage_failure(context, written.error());
    *context.out << path << " is written from " << folder_of(args) << "\n";
  }
  return 0;
}

int results_check(const Args& args, Context& context) {
  const Page page = make_page(args, context);
  if (page.status != 0) return page.status;
  const std::string file = page_file_of(args), chart_file = chart_file_of(file);
  const std::string is = read_whole(file), chart = read_whole(chart_file);
  const std::string what = " is not what " + folder_of(args) + " gives";
  if (is == page.text && chart == page.chart) {
    *context.out << file << " and " << chart_file << " are what " << folder_of(args) << " gives\n";
    return 0;
  }
  if (args.has("allow-new")) return check_without_new(args, is, context);
  if (is != page.text) return differs(is, page.text, file + what, context);
  return differs(chart, page.chart, chart_file + what, context);
}

}  // namespace plumbline
