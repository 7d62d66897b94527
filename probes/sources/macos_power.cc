#include "probes/sources/macos_power.h"

#include <cstdint>

#include "core/host/host_parse.h"
#include "core/number.h"
#include "core/text.h"
#include "probes/sources/parsers.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

// "	CPU_Speed_Limit 	= 100", "Thermal Warning Level = 1".
struct PowerRow {
  std::string_view key, name;
  int64_t most;
  bool level;
};
constexpr PowerRow kPowerRows[] = {
    {"CPU_Speed_Limit", "speed_limit_percent", 100, false},
    {"CPU_Scheduler_Limit", "scheduler_limit_percent", 100, false},
    {"CPU_Available_CPUs", "available_cpus", 4096, false},
    {"Thermal Warning Level", "thermal_warning", 255, true},
    {"Performance Warning Level", "performance_warning", 255, true},
};
// Where nothing has been announced since the system started.
struct NoWarningRow {
  std::string_view words, name;
};
constexpr NoWarningRow kNoWarnings[] = {
    {"No thermal warning level has been recorded", "thermal_warning"},
    {"No performance warning level has been recorded", "performance_warning"},
};
constexpr size_t kLongestLine = 256;

// The settings of `pmset -g` that are about low power mode. Macs that have a high power mode too
// say which of three it is: 0 automatic, 1 low, 2 high.
struct LowPower {
  std::optional<bool> mode, of_three;
};

void read_setting(std::string_view line, LowPower& out) {
  const auto words = words_of(line);
  if (words.size() < 2) return;
  const auto value = parse_whole<int>(words[1], 0, 2);
  if (!value) return;
  if (words[0] == "lowpowermode" && *value <= 1 && !out.mode) out.mode = *value == 1;
  if (words[0] == "powermode" && !out.of_three) out.of_three = *value == 1;
}

}  // namespace

std::map<std::string, std::string> parse_pmset_therm(std::string_view text) {
  std::map<std::string, std::string> out;
  for (const std::string_view whole : lines_of(text)) {
    if (whole.size() > kLongestLine) continue;
    for (const NoWarningRow& row : kNoWarnings) {
      if (whole.find(row.words) != whole.npos) out.emplace(row.name, "none");
    }
    const size_t equals = whole.find('=');
    if (equals == whole.npos) continue;
    const std::string_view key = trimmed(whole.substr(0, equals));
    for (const PowerRow& row : kPowerRows) {
      if (key != row.key) continue;
      const auto value = parse_whole<int64_t>(trimmed(whole.substr(equals + 1)), 0, row.most);
      if (!value) continue;
      out.emplace(row.name, (row.level ? "level " : "") + std::to_string(*value));
    }
  }
  return out;
}

std::optional<bool> parse_low_power_mode(std::string_view text) {
  LowPower seen;
  // Headings begin a line, settings stand behind a blank.
  bool in_use = true;
  for (const std::string_view line : lines_of(text)) {
    if (line.empty() || line.size() > kLongestLine) continue;
    const bool heading = line.back() == ':' && line.front() != ' ' && line.front() != '\t';
    if (heading) {
      in_use = line.starts_with("Currently in use");
    } else if (in_use) {
      read_setting(line, seen);
    }
  }
  if (!seen.mode) return seen.of_three;
  return *seen.mode || seen.of_three.value_or(false);
}

// Older Macs have no such mode: then nothing is told.
Status parse_pmset(const std::string& text, HostEvidence& host) {
  const auto low = parse_low_power_mode(text);
  if (low) host.sysctls["pmset.low_power_mode"] = *low ? "on" : "off";
  if (!low && text.find("sleep") == std::string::npos) {
    return fail(ErrorCode::kProtocol, "no setting of power management in what pmset printed");
  }
  return {};
}

}  // namespace plumbline
