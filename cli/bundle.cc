#include "cli/bundle.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/anonymise.h"
#include "cli/doctor_run.h"
#include "core/command.h"
#include "core/temporary_folder.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTarMs = 60'000;

bool write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file.flush());
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::vector<std::string> names_of(const EvidenceSet& evidence) {
  std::vector<std::string> names;
  for (const JobHost& host : evidence.job.hosts) names.push_back(host.name);
  for (const HostEvidence& host : evidence.hosts) {
    names.push_back(host.hostname);
    names.push_back(host.hostname.substr(0, host.hostname.find('.')));
    for (const NameEvidence& name : host.names) names.push_back(name.name);
  }
  return names;
}

}  // namespace

Status write_bundle(const std::string& path, const ProbeResult& result) {
  const TemporaryFolder folder;
  if (folder.path().empty())
    return fail_errno(ErrorCode::kSystem, "make a temporary folder", errno);
  const fs::path inside = folder.path() / "plumbline-bundle";
  std::error_code code;
  fs::create_directories(inside / "traces", code);

  // What identifies a machine and explains nothing is left out altogether.
  EvidenceSet evidence = result.evidence;
  evidence.job.file = "hosts.json";
  for (JobHost& host : evidence.job.hosts) {
    const size_t line = host.where.rfind(':');
    host.where = line == std::string::npos ? "" : "hosts.json" + host.where.substr(line);
  }
  for (HostEvidence& host : evidence.hosts) {
    host.boot_id.clear();
    host.sysctls.erase("kernel.random.boot_id");
  }
  Anonymiser anonymiser(names_of(evidence));
  DoctorReport report = report_of(result);
  if (!result.evidence.job.file.empty()) {
    for (Check& check : report.checks)
      replace_all(check.reason, result.evidence.job.file, "hosts.json");
  }
  bool written =
      write_file(inside / "evidence.json", anonymiser.text(evidence_text(evidence))) &&
      write_file(inside / "doctor.json", anonymiser.text(doctor_json(report))) &&
      write_file(inside / "doctor.txt", anonymiser.text(doctor_text(report, 0, false, true)));
  int number = 0;
  for (const std::string& trace : result.traces) {
    std::ifstream file(trace, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    const std::string clean = anonymiser.trace(bytes.str());
    const std::string name = "trace" + std::to_string(++number) + ".pcap";
    if (!clean.empty()) written = written && write_file(inside / "traces" / name, clean);
  }
  if (!written) return fail(ErrorCode::kSystem, "write into " + inside.string());
  // Nobody's name in the archive either: GNU's words for it, or else bsdtar's.
  Expected<CommandResult> tar = fail(ErrorCode::kSystem, "");
  for (const auto& owner :
       {std::array{"--owner=0", "--group=0"}, std::array{"--uid=0", "--gid=0"}}) {
    tar = run_command({"tar", owner[0], owner[1], "--numeric-owner", "-C", folder.path().string(),
                       "-czf", path, "plumbline-bundle"},
                      Deadline::after_ms(kTarMs));
    if (!tar) return fail(tar.error());
    if (tar->status == 0) return {};
  }
  return fail(ErrorCode::kConfig, "write " + path + ": " + tar->err.substr(0, 200),
              "choose a writable place");
}

}  // namespace plumbline
