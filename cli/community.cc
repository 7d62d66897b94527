#include "cli/community.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "core/json.h"
#include "reports/publish/bundle_date.h"
#include "reports/text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::string issue_text(const BundleIssue& issue, const char* what) {
  const std::string path = issue.path.empty() ? "" : clean(issue.path) + " ";
  return fmt::format("  {}{}: {}{}\n", what, issue.kind, path, clean(issue.text));
}

void append_issues(const std::vector<BundleIssue>& issues, const char* what, std::string& out) {
  constexpr size_t kShown = 30;
  for (size_t i = 0; i < std::min(issues.size(), kShown); ++i) out += issue_text(issues[i], what);
  if (issues.size() > kShown) out += fmt::format("  ... and {} more\n", issues.size() - kShown);
}

// Signatures only count where the content is what the hash says.
SignatureCheck signature_of(BundleReport& report, const std::string& allowed_signers) {
  if (report.document == nullptr || !report.sound()) return {};
  const nlohmann::json& document = *report.document;
  if (document["signature"].is_null()) return {};
  const nlohmann::json& content = document["content"];
  SignatureCheck check = check_signature(canonical_text(content), document["signature"],
                                         allowed_signers, content["date"]);
  if (check.state == SignatureCheck::State::kBad) {
    report.problems.push_back({"signature", "signature", "does not fit the content: " + check.why});
  }
  if (check.state == SignatureCheck::State::kUnknown) {
    report.flags.push_back(
        {"signer", "signature", "is sound, but its key " + check.who + " is no allowed signer's"});
  }
  return check;
}

}  // namespace

Expected<std::string> read_bundle_file(const std::string& path) {
  std::error_code code;
  const fs::file_status status = fs::symlink_status(path, code);
  if (status.type() != fs::file_type::regular) {
    const bool there = fs::exists(status);
    const char* what = !there                   ? ""
                       : fs::is_symlink(status) ? ", which is a symbolic link"
                                                : ", which is no regular file";
    return fail_errno(ErrorCode::kConfig, "read bundle " + path + what, there ? 0 : ENOENT,
                      "give files that plumbline submit wrote");
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(kBundleMaxBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (in.bad() || (!in && !in.eof())) {
    return fail_errno(ErrorCode::kConfig, "read bundle " + path, errno);
  }
  return text;
}

Expected<std::vector<VerifiedBundle>> verify_files(const std::vector<std::string>& files,
                                                   const std::string& allowed_signers) {
  std::vector<BundleReport> reports;
  for (const std::string& file : files) {
    const Expected<std::string> text = read_bundle_file(file);
    if (!text) return fail(text.error());
    reports.push_back(verify_bundle(*text, file));
  }
  compare_bundles(reports);
  std::vector<VerifiedBundle> out;
  for (BundleReport& report : reports) {
    SignatureCheck signature = signature_of(report, allowed_signers);
    out.push_back({std::move(report), std::move(signature)});
  }
  return out;
}

Expected<std::string> allowed_signers_of(const Args& args, const std::string& usual) {
  if (!args.has("allowed-signers")) return usual;
  const std::string file = args.get("allowed-signers");
  std::error_code code;
  if (!fs::is_regular_file(file, code)) {
    const int why = fs::is_directory(file, code) ? EISDIR : ENOENT;
    return fail_errno(ErrorCode::kUsage, "read the allowed signers " + file, why,
                      "give a file as in man ssh-keygen, ALLOWED SIGNERS");
  }
  return file;
}

void flag_future(BundleReport& report) {
  if (!report.sound()) return;
  const auto today = static_cast<int64_t>(std::time(nullptr)) / 86'400;
  const std::string date = (*report.document)["content"]["date"];
  if (day_number(date).value_or(0) <= today + 1) return;
  report.flags.push_back(
      {"future", "content.date", "is " + date + ", which lies ahead of this machine's clock"});
}

Expected<std::vector<std::string>> bundle_files(const std::string& folder) {
  std::error_code code;
  std::vector<std::string> files;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    if (it->path().extension() == ".json") files.push_back(it->path().string());
  }
  if (code) {
    return fail_errno(ErrorCode::kConfig, "read the folder " + folder, code.value(),
                      "run it in the repository's root, or give --folder");
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string verdict_text(const VerifiedBundle& bundle) {
  const BundleReport& report = bundle.report;
  std::string out = clean(report.file) + ": ";
  if (report.sound()) {
    const auto& statement = (*report.document)["content"]["statement"];
    out +=
        fmt::format("ok, {} rows, link {} as stated, {}{}\n", report.rows.size(),
                    statement["link_kind"].get<std::string>(), bundle.signature.text(),
                    bundle.signature.why.empty() ? "" : " (" + clean(bundle.signature.why) + ")");
  } else {
    out += fmt::format("REJECTED, {} problem{}\n", report.problems.size(),
                       report.problems.size() == 1 ? "" : "s");
  }
  append_issues(report.problems, "", out);
  append_issues(report.flags, "flag ", out);
  return out;
}

}  // namespace plumbline
