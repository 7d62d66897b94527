// What should be the same on all hosts of a job before its first rank starts: versions of the
// system, of programs and of Python's packages, and variables of the environment that ranks heed.
// The two tables say what is asked for; whoever asks is probes/actions/software.h, and who compares
// probes/rules/equal_hosts.h. Pure functions, thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumbline {

// Where a version comes from.
enum class SoftwareKind {
  kMachine,  // the hardware: hosts may differ, and then the slowest or smallest one counts
  kSystem,   // compared among hosts of one distribution
  kTold,     // shown, not compared: it differs where somebody has just installed an update
  kProgram,
  kPackage,  // of Python, by the interpreter's own list of what is installed
};

struct SoftwareRow {
  const char* name;  // "mlx"
  SoftwareKind kind;
  const char* help;  // where it is read
  // Of a package: the names under which it is installed, the first one that is there counts.
  std::vector<const char*> packages = {};
};
const std::vector<SoftwareRow>& software_table();
// nullptr: a package that only the scenario names, or nothing at all.
const SoftwareRow* find_software(std::string_view name);

// Variables of which all hosts should have the same value, or none; each is allowed to leave its
// host (probes/job/job_variables.h).
std::span<const char* const> alike_variables();

// Without what only one build of it has: "2.5.1+cu124" -> "2.5.1".
std::string public_version(std::string_view version);
// Where 1.9 comes before 1.10, and letters after digits: < 0, 0, > 0.
int compare_versions(std::string_view a, std::string_view b);

// "name version" on each line, as the question to Python prints it; what is not one of `asked`, or
// does not look like a version, is left out.
std::vector<std::pair<std::string, std::string>> parse_python_versions(
    const std::string& text, const std::vector<std::string>& asked);

}  // namespace plumbline
