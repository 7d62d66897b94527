#include "cli/results_community.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/community.h"
#include "core/text_file.h"
#include "reports/results_page.h"
#include "reports/text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct Page {
  std::string file, folder;  // as given
  std::string text;          // what the folder gives
  int status = 0;            // not 0: the folder is no good, and the reasons are printed
};

// The folder as a link on the page must name it.
std::string link_to(const std::string& folder, const std::string& page) {
  std::error_code code;
  const fs::path from = fs::absolute(page, code).lexically_normal().parent_path();
  const std::string link =
      fs::absolute(folder, code).lexically_normal().lexically_relative(from).generic_string();
  return link.empty() ? folder : link;
}

Page make_page(const Args& args, Context& context) {
  Page page;
  page.folder = args.get("folder", kCommunityFolder);
  page.file = args.get("page", "RESULTS.md");
  const auto files = bundle_files(page.folder);
  if (!files) {
    page.status = usage_failure(context, files.error());
    return page;
  }
  const auto bundles =
      verify_files(*files, args.get("allowed-signers", page.folder + "/" + kAllowedSigners));
  if (!bundles) {
    page.status = usage_failure(context, bundles.error());
    return page;
  }
  PageOptions options;
  options.folder = link_to(page.folder, page.file);
  std::vector<BundleReport> reports;
  for (const VerifiedBundle& bundle : *bundles) {
    if (!bundle.report.sound() || !bundle.report.flags.empty())
      *context.err << verdict_text(bundle);
    if (!bundle.report.sound()) page.status = kWrongContent;
    if (bundle.signature.state == SignatureCheck::State::kNotChecked && page.status == 0) {
      page.status = usage_failure(
          context,
          Error{ErrorCode::kUnsupported,
                "check the signature of " + bundle.report.file + ": " + bundle.signature.why, 0,
                "the page says who signed, so it needs ssh-keygen (openssh-client)", ""});
    }
    options.signatures[bundle.report.id] = bundle.signature.text();
    reports.push_back(bundle.report);
  }
  if (page.status == 0) page.text = results_page(reports, options);
  return page;
}

std::string read_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

int results_update(const Args& args, Context& context) {
  const Page page = make_page(args, context);
  if (page.status != 0) return page.status;
  if (read_whole(page.file) == page.text) {
    *context.out << page.file << " is up to date\n";
    return 0;
  }
  const Status written = replace_text_file(page.file, page.text, "choose a writable --page");
  if (!written) return usage_failure(context, written.error());
  *context.out << page.file << " is written from " << page.folder << "\n";
  return 0;
}

int results_check(const Args& args, Context& context) {
  const Page page = make_page(args, context);
  if (page.status != 0) return page.status;
  const std::string is = read_whole(page.file);
  if (is == page.text) {
    *context.out << page.file << " is what " << page.folder << " gives\n";
    return 0;
  }
  const auto differ = std::mismatch(is.begin(), is.end(), page.text.begin(), page.text.end());
  const auto line = 1 + std::count(is.begin(), differ.first, '\n');
  *context.err << fmt::format(
      "plumbline: {} is not what {} gives, from line {} on; run plumbline results update\n",
      page.file, page.folder, line);
  return kWrongContent;
}

}  // namespace plumbline
