#include "cli/community.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/command.h"
#include "core/file.h"
#include "core/json.h"
#include "reports/publish/bundle_words.h"
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

constexpr const char* kNamespace = "plumbline-bundle";
constexpr int64_t kSignMs = 60'000;  // somebody may have to touch a hardware key
constexpr int64_t kVerifyMs = 10'000;

std::string first_line(const std::string& text) { return clean(text.substr(0, text.find('\n'))); }

// Where ssh-keygen has prompted before, its complaint comes last.
std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const size_t at = text.find_last_of("\r\n");
  return clean(at == std::string::npos ? text : text.substr(at + 1));
}

std::vector<std::string> lines_of(const std::string& file) {
  constexpr size_t kMostBytes = 1 << 20;
  std::istringstream in(read_input_file(file, kMostBytes).value_or(""));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

SignatureCheck not_checked(std::string why) {
  return {SignatureCheck::State::kNotChecked, "", std::move(why)};
}

// 'Good "plumbline-bundle" signature with ED25519 key SHA256:...'
std::string fingerprint_in(const std::string& text) {
  const size_t at = text.find("SHA256:");
  return at == std::string::npos ? "" : clean(text.substr(at, text.find_first_of(" \n", at) - at));
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
  const std::string date = content_of(report)["date"];
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
    const auto& statement = content_of(report)["statement"];
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

std::string SignatureCheck::signer() const {
  if (state == State::kSigned) return "signer " + who;
  return state == State::kUnknown ? "key " + who : "";
}

std::string SignatureCheck::text() const {
  switch (state) {
    case State::kUnsigned:
      return "unsigned";
    case State::kSigned:
      return "signed by " + who;
    case State::kUnknown:
      return "signed by an unknown key";
    case State::kBad:
      return "bad signature";
    case State::kNotChecked:
      break;
  }
  return "not checked";
}

Expected<std::string> sign_bundle(const std::string& content, const std::string& key_file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(key_file, ignored)) {
    return fail_errno(ErrorCode::kUsage, "read the key " + key_file, ENOENT,
                      "give --sign the file of an ssh key, such as ~/.ssh/id_ed25519");
  }
  if (find_program("ssh-keygen").empty()) {
    return fail(ErrorCode::kUnsupported, "sign with " + key_file + ": there is no ssh-keygen here",
                "install openssh-client");
  }
  CommandOptions options;
  options.input = content;
  // Nobody can be asked for a passphrase from here: then it fails at once, and the agent is the
  // way.
  const auto signed_text =
      run_command({"env", "SSH_ASKPASS_REQUIRE=force", "SSH_ASKPASS=false", "ssh-keygen", "-Y",
                   "sign", "-f", key_file, "-n", kNamespace},
                  Deadline::after_ms(kSignMs), options);
  if (!signed_text) return fail(signed_text.error());
  if (signed_text->status == 0 && signed_text->out.rfind("-----BEGIN SSH SIGNATURE-----", 0) == 0) {
    return signed_text->out;
  }
  return fail(ErrorCode::kConfig,
              "ssh-keygen -Y sign -f " + key_file + ": " + last_line(signed_text->err),
              "a key with a passphrase must be in the agent: ssh-add " + key_file);
}

SignatureCheck check_signature(const std::string& content, const std::string& signature,
                               const std::string& allowed_signers, const std::string& date) {
  using State = SignatureCheck::State;
  if (find_program("ssh-keygen").empty()) return not_checked("there is no ssh-keygen here");
  const TemporaryFolder folder;
  if (folder.path().empty()) return not_checked("no temporary folder");
  const std::string file = (folder.path() / "bundle.sig").string();
  std::ofstream(file, std::ios::binary) << signature;
  CommandOptions options;
  options.input = content;
  const auto ask = [&](const std::vector<std::string>& words) {
    std::vector<std::string> argv = {"ssh-keygen", "-Y"};
    argv.insert(argv.end(), words.begin(), words.end());
    return run_command(argv, Deadline::after_ms(kVerifyMs), options);
  };
  const auto sound = ask({"check-novalidate", "-n", kNamespace, "-s", file});
  if (!sound) return not_checked(sound.error().message());
  if (sound->status != 0) return {State::kBad, "", first_line(sound->err)};
  const SignatureCheck unknown = {State::kUnknown, fingerprint_in(sound->out + sound->err), ""};
  std::error_code ignored;
  if (!std::filesystem::exists(allowed_signers, ignored)) return unknown;
  const std::string day = date.substr(0, 4) + date.substr(5, 2) + date.substr(8, 2) + "1200Z";
  const std::string when = "-Overify-time=" + day;
  std::vector<std::string> lines = lines_of(allowed_signers);
  const std::string trusted = (folder.path() / "allowed").string();
  while (!lines.empty()) {
    {
      std::ofstream out(trusted, std::ios::binary);
      for (const std::string& line : lines) out << line << "\n";
    }
    // It stops at the key's first line, which may be for another namespace.
    const auto found = ask({"find-principals", "-s", file, "-f", trusted, when});
    if (!found) return not_checked(found.error().message());
    const std::string principals = found->out.substr(0, found->out.find('\n'));
    if (found->status != 0 || principals.empty()) return unknown;
    const std::string first = principals.substr(0, principals.find(','));
    const auto good =
        ask({"verify", "-f", trusted, "-I", first, "-n", kNamespace, "-s", file, when});
    if (!good) return not_checked(good.error().message());
    if (good->status == 0) return {State::kSigned, clean(first), ""};
    const auto line = std::find_if(lines.begin(), lines.end(), [&](const std::string& one) {
      return one.rfind(principals + " ", 0) == 0 || one.rfind(principals + "\t", 0) == 0;
    });
    if (line == lines.end()) return unknown;
    lines.erase(line);
  }
  return unknown;
}

}  // namespace plumbline
