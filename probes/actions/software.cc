#include "probes/actions/software.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/command.h"
#include "core/diagnosis/remedy.h"
#include "core/file.h"
#include "core/host/host.h"
#include "core/host/host_parse.h"
#include "core/ranges.h"
#include "core/text.h"
#include "probes/job/job_variables.h"
#include "probes/software.h"
#include "probes/sources/own_process.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

constexpr size_t kMostPackages = 32, kMostPythonOut = 64 << 10, kMostEnvironment = 1 << 20,
                 kMostUserEntry = 64 << 10;
constexpr int64_t kLongestAskMs = 30'000;

// Reads the list of what is installed and imports nothing of it. Packages in the current folder are
// nobody's choice.
constexpr const char* kPythonQuestion = R"(import sys
sys.path = [place for place in sys.path if place]
print("python", ".".join(str(number) for number in sys.version_info[:3]))
from importlib import metadata
for name in sys.argv[1:]:
    try:
        print(name, metadata.version(name))
    except Exception:
        pass
)";

// Apple's own python3 asks for the developer tools in a window when they are not there.
std::string why_not_asked(const std::string& python, Deadline deadline) {
  if (std::string_view(own_system()) != "macos" || python != "/usr/bin/python3") return {};
  const auto tools = run_command({"/usr/bin/xcode-select", "-p"}, deadline);
  if (tools && tools->status == 0) return {};
  return "python3 is Apple's placeholder: the command line tools are not installed";
}

std::vector<std::string> packages_of(const AskSoftware& asked) {
  std::vector<std::string> out = {"python"};
  for (const SoftwareRow& row : software_table()) {
    out.insert(out.end(), row.packages.begin(), row.packages.end());
  }
  for (const std::string& name : asked.packages) {
    if (!is_in(out, name)) out.push_back(name);
  }
  return out;
}

// Under the names of the table; what somebody asked for by its own name, under that.
void take_packages(const std::vector<std::pair<std::string, std::string>>& found,
                   const std::vector<std::string>& named, SoftwareEvidence& out) {
  for (const SoftwareRow& row : software_table()) {
    for (const char* package : row.packages) {
      const auto* entry =
          find_where(found, [&](const auto& each) { return each.first == package; });
      if (entry != nullptr) out.versions.emplace(row.name, entry->second);
    }
  }
  for (const auto& [name, version] : found) {
    if (name == "python" || is_in(named, name)) out.versions.emplace(name, version);
  }
}

// The last line that it printed to standard error.
std::string last_words(const std::string& said) {
  const auto lines = lines_of(said);
  const auto line = std::find_if(lines.rbegin(), lines.rend(),
                                 [](std::string_view each) { return !each.empty(); });
  return line == lines.rend() ? std::string() : escaped_short(*line);
}

void ask_python(const AskSoftware& asked, Deadline deadline, SoftwareEvidence& out) {
  out.python_error = why_not_asked(out.python, deadline);
  if (!out.python_error.empty()) return;
  const std::vector<std::string> packages = packages_of(asked);
  std::vector<std::string> words = {out.python, "-c", kPythonQuestion};
  words.insert(words.end(), packages.begin() + 1, packages.end());
  CommandOptions options;
  options.max_bytes = kMostPythonOut;
  const auto done = run_command(words, deadline, options);
  if (!done) {
    out.python_error = done.error().message();
    return;
  }
  take_packages(parse_python_versions(done->out, packages), asked.packages, out);
  if (done->status != 0) {
    out.python_error =
        fmt::format("it ended with status {}: {}", done->status, last_words(done->err));
  }
}

// "libnccl.so.2.21.5" -> "2.21.5"; the newest that is there.
std::string installed_nccl() {
  constexpr const char* kFolders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                      "/usr/lib64", "/usr/local/lib", "/usr/local/cuda/lib64"};
  constexpr std::string_view kName = "libnccl.so.";
  std::string newest;
  for (const char* folder : kFolders) {
    std::error_code code;
    for (std::filesystem::directory_iterator each(folder, code), end; !code && each != end;
         each.increment(code)) {
      const std::string name = each->path().filename().string();
      if (!name.starts_with(kName)) continue;
      const std::string version = name.substr(kName.size());
      const bool whole = version.find_first_not_of("0123456789.") == std::string::npos &&
                         version.find('.') != std::string::npos;
      if (whole && compare_versions(newest, version) < 0) newest = version;
    }
  }
  return newest;
}

void read_machine(SoftwareEvidence& out) {
  const HostFacts facts = read_host_facts();
  const auto put = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.versions[name] = valid_utf8(value.substr(0, 128));
  };
  put("system", facts.os);
  if (std::string_view(own_system()) == "linux") put("kernel", facts.kernel);
  put("chip", facts.cpu_model);
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  // Firmware keeps some back: machines with the same memory count a little less, each its own.
  if (facts.memory_bytes > 0) {
    put("memory",
        fmt::format("{} GiB", std::max<uint64_t>(1, (facts.memory_bytes + kGiB / 2) / kGiB)));
  }
  put("driver", std::string(trimmed(read_system_file("/sys/module/nvidia/version"))));
  put("libnccl", installed_nccl());
}

void take_variables(const JobVariables& all, SoftwareEvidence& out) {
  JobVariables found;
  for (const char* name : alike_variables()) {
    const auto variable = all.find(name);
    if (variable != all.end()) found.insert(*variable);
  }
  out.variables = allowed_variables(found);
  for (const auto& each : found) {
    if (!out.variables.contains(each.first)) out.untold.push_back(each.first);
  }
}

// Of this process.
JobVariables own_variables() {
  JobVariables out;
  for (const char* name : alike_variables()) {
    if (const char* value = std::getenv(name)) out[name] = value;
  }
  if (const char* path = std::getenv("PATH")) out["PATH"] = path;
  return out;
}

// "NAME=VALUE", each ended by a zero; what a shell's files print before stands in the first one.
JobVariables parse_environment(std::string_view text) {
  JobVariables out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\0'), text.size());
    std::string_view entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t equals = entry.find('=');
    if (equals == entry.npos) continue;
    const size_t line = entry.substr(0, equals).rfind('\n');
    const size_t begin = line == entry.npos ? 0 : line + 1;
    out.emplace(entry.substr(begin, equals - begin), entry.substr(equals + 1));
  }
  return out;
}

// What a session of ssh without a terminal finds on this host: the user's login shell with the few
// variables that sshd sets, and so with the files that it reads then. Bash reads ~/.bashrc when
// SSH_CLIENT is set, as some systems build it.
JobVariables variables_over_ssh(Deadline deadline) {
  // getpwuid() would answer in memory that all threads share, and requests run side by side.
  passwd entry;
  passwd* user = nullptr;
  std::vector<char> texts(kMostUserEntry);
  ::getpwuid_r(::geteuid(), &entry, texts.data(), texts.size(), &user);
  if (user == nullptr || user->pw_shell == nullptr || user->pw_shell[0] != '/') return {};
  const bool macos = std::string_view(own_system()) == "macos";
  const std::string path =
      macos ? "/usr/bin:/bin:/usr/sbin:/sbin" : "/usr/local/bin:/usr/bin:/bin:/usr/games";
  const std::vector<std::string> words = {"env",
                                          "-i",
                                          fmt::format("HOME={}", user->pw_dir),
                                          fmt::format("USER={}", user->pw_name),
                                          fmt::format("LOGNAME={}", user->pw_name),
                                          fmt::format("SHELL={}", user->pw_shell),
                                          "PATH=" + path,
                                          "SSH_CLIENT=127.0.0.1 1 22",
                                          user->pw_shell,
                                          "-c",
                                          "/usr/bin/env -0"};
  CommandOptions options;
  options.max_bytes = kMostEnvironment;
  const auto done = run_command(words, deadline, options);
  return done && done->status == 0 ? parse_environment(done->out) : JobVariables();
}

// The first of this name that may be run; empty where there is none.
std::string program_on(const std::string& path, const std::string& name) {
  for (const std::string& folder : split_at(path, ':')) {
    const std::string file = folder + "/" + name;
    if (folder.starts_with('/') && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

}  // namespace

Expected<std::string> path_here(const std::string& path) {
  std::string out = path;
  if (path == "~" || path.starts_with("~/")) {
    const char* home = std::getenv("HOME");
    if (home == nullptr || home[0] != '/') {
      return fail(ErrorCode::kConfig, "'" + path + "': this host does not say where home is",
                  "give an absolute path");
    }
    out = home + path.substr(1);
  }
  const bool plain = std::none_of(out.begin(), out.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  if (!out.starts_with('/') || !plain) {
    return fail(ErrorCode::kUsage, in_quotes(path) + " is no absolute path",
                "write /path/to/it, or ~/path for one in the home of whoever runs it");
  }
  return out;
}

Expected<SoftwareEvidence> read_software(const AskSoftware& asked, const AgentCall& call) {
  if (asked.packages.size() > kMostPackages) {
    return fail(ErrorCode::kUsage, fmt::format("more than {} packages", kMostPackages));
  }
  for (const std::string& name : asked.packages) {
    if (!fits(Slot::kPackage, name)) {
      return fail(ErrorCode::kUsage, in_quotes(name) + " is no name of a package");
    }
  }
  const int64_t until =
      Deadline::after_ms(std::clamp<int64_t>(asked.timeout_ms, 100, kLongestAskMs)).at_ns();
  const Deadline deadline = Deadline::at_ns(std::min(call.deadline.at_ns(), until));
  SoftwareEvidence out;
  const JobVariables found = asked.as_over_ssh ? variables_over_ssh(deadline) : own_variables();
  const auto path = found.find("PATH");
  out.python = program_on(path == found.end() ? std::string() : path->second, "python3");
  out.python_error = out.python.empty() ? "there is no python3 on the PATH" : "";
  if (!asked.python.empty()) {
    const Expected<std::string> place = path_here(asked.python);
    if (!place) return fail(place.error());
    const bool there = ::access(place->c_str(), X_OK) == 0;
    out.python = there ? *place : std::string();
    out.python_error = there ? std::string() : "there is no " + *place;
  }
  read_machine(out);
  take_variables(found, out);
  if (!out.python.empty()) ask_python(asked, deadline, out);
  return out;
}

}  // namespace plumbline
