// What scenarios say of what must be the same on all hosts: packages and files.
#include <fmt/format.h>

#include <algorithm>

#include "core/diagnosis/remedy.h"
#include "core/text.h"
#include "scenarios/read.h"

namespace plumbline {
namespace {

constexpr size_t kMostNamed = 32;  // packages, paths

std::string param_in(const ProbeCall& call, const char* name) {
  const auto found = call.params.find(name);
  return found == call.params.end() ? std::string() : found->second;
}

void check_path(const std::string& text, const std::string& where, Problems& problems) {
  const std::string problem = artifact_path_problem(text);
  if (!problem.empty()) {
    problems.add(where, fmt::format("{} {}", in_quotes(text), problem),
                 "write /path/to/it, or ~/path for one in the home of whoever runs it");
  }
}

void check_software(const ProbeCall& call, const std::string& path, Problems& problems) {
  if (const std::string python = param_in(call, "python"); !python.empty()) {
    check_path(python, json_path(path, "python"), problems);
  }
  const std::string packages = param_in(call, "packages");
  if (packages.empty()) return;
  const std::vector<std::string> names = comma_list(packages);
  for (const std::string& name : names) {
    if (fits(Slot::kPackage, name)) continue;
    problems.add(json_path(path, "packages"),
                 fmt::format("{} is no name of a Python package", in_quotes(name)),
                 R"(write names as pip shows them: "mlx,mlx-lm")");
  }
  if (names.size() > kMostNamed) {
    problems.add(json_path(path, "packages"), fmt::format("names more than {}", kMostNamed),
                 "name those that the job needs");
  }
}

void check_artifact(const ProbeCall& call, const std::string& path, Problems& problems) {
  const std::string paths = param_in(call, "path");
  if (paths.empty()) return;  // given later, or skipped
  const std::vector<std::string> all = comma_list(paths);
  for (const std::string& each : all) check_path(each, json_path(path, "path"), problems);
  if (all.size() > kMostNamed) {
    problems.add(json_path(path, "path"), fmt::format("names more than {}", kMostNamed),
                 "name the folders above them");
  }
}

}  // namespace

std::string artifact_path_problem(const std::string& path) {
  constexpr size_t kLongestPath = 1024;
  const bool absolute = path.starts_with('/') || path.starts_with("~/");
  if (!absolute || path.size() < 2) return "is no absolute path";
  if (path.size() > kLongestPath) return fmt::format("is longer than {} bytes", kLongestPath);
  if (!is_printable(path)) return "has characters that cannot be shown";
  return {};
}

void check_equality_probes(const Scenario& scenario, Problems& problems) {
  for (size_t i = 0; i < scenario.probes.size(); ++i) {
    const ProbeCall& call = scenario.probes[i];
    const std::string path = json_path("$.probes", i);
    if (call.probe == kSoftwareProbe) check_software(call, path, problems);
    if (call.probe == kArtifactProbe) check_artifact(call, path, problems);
  }
}

}  // namespace plumbline
