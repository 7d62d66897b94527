#include "probes/software.h"

#include <algorithm>
#include <utility>

#include "core/diagnosis/remedy.h"
#include "core/ranges.h"
#include "core/text.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

// Ranks that differ in one of these go different ways: one waits for a download that the others
// were told not to make, takes another network, or is alone. Not among them: what may well differ
// (names of interfaces, own addresses, files of a launch) and what tells ranks apart.
constexpr const char* kAlike[] = {
    "MLX_METAL_FAST_SYNCH",
    "MLX_JACCL_COORDINATOR",
    "MLX_JACCL_RING",
    "MLX_WORLD_SIZE",
    "JACCL_COORDINATOR",
    "JACCL_RING",
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "HF_DATASETS_OFFLINE",
    "NCCL_COMM_ID",
    "NCCL_SOCKET_FAMILY",
    "NCCL_IB_DISABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_SHM_DISABLE",
    "NCCL_ALGO",
    "NCCL_PROTO",
    "NCCL_NET",
    "GLOO_DEVICE_TRANSPORT",
    "MCCL_TRANSPORT",
    "MCCL_LINK_PROFILE",
};

bool is_number_char(char c) { return is_digit(c); }

// Takes the run of digits, or of anything else, with which `text` begins.
std::string_view take_run(std::string_view& text) {
  if (text.empty()) return {};
  const bool digits = is_number_char(text[0]);
  size_t end = 1;
  while (end < text.size() && is_number_char(text[end]) == digits) ++end;
  const std::string_view run = text.substr(0, end);
  text.remove_prefix(end);
  return run;
}

std::string_view without_zeros(std::string_view digits) {
  while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
  return digits;
}

}  // namespace

const std::vector<SoftwareRow>& software_table() {
  using enum SoftwareKind;
  static const std::vector<SoftwareRow> kTable = {
      {"system", kSystem, "release and build of the system: sw_vers, /etc/os-release"},
      {"kernel", kTold, "Linux: uname(2)"},
      {"chip", kMachine, "sysctl machdep.cpu.brand_string, /proc/cpuinfo"},
      {"memory", kMachine, "what the system counts, in GiB"},
      {"driver", kProgram, "NVIDIA's kernel module: /sys/module/nvidia/version"},
      {"libnccl", kProgram, "NCCL that is installed for all, by the name of its file"},
      {"python", kProgram, "the interpreter's own word"},
      {"mlx", kPackage, "Python's list of packages", {"mlx"}},
      {"mlx-lm", kPackage, "Python's list of packages", {"mlx-lm"}},
      {"torch", kPackage, "Python's list of packages", {"torch"}},
      {"transformers", kPackage, "Python's list of packages", {"transformers"}},
      {"nccl",
       kPackage,
       "NCCL as torch brings it: Python's list of packages",
       {"nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11"}},
  };
  return kTable;
}

const SoftwareRow* find_software(std::string_view name) {
  return find_where(software_table(), [&](const SoftwareRow& row) { return row.name == name; });
}

std::span<const char* const> alike_variables() { return kAlike; }

std::string public_version(std::string_view version) {
  return std::string(version.substr(0, version.find('+')));
}

int compare_versions(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() ? (b.empty() ? 0 : -1) : 1;
  while (!a.empty() && !b.empty()) {
    std::string_view x = take_run(a), y = take_run(b);
    if (is_number_char(x[0]) && is_number_char(y[0])) {
      x = without_zeros(x);
      y = without_zeros(y);
      if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
    }
    // 1.0rc1 comes before 1.0.1.
    if (is_letter(x[0]) != is_letter(y[0])) return is_letter(x[0]) ? -1 : 1;
    if (const int order = x.compare(y); order != 0) return order;
  }
  if (a.empty() && b.empty()) return 0;
  // 1.0rc1 comes before 1.0, 1.0.1 after it.
  const std::string_view rest = a.empty() ? b : a;
  const bool before = is_letter(rest[0]);
  return a.empty() == before ? 1 : -1;
}

std::vector<std::pair<std::string, std::string>> parse_python_versions(
    const std::string& text, const std::vector<std::string>& asked) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.size() != 2 || !fits(Slot::kVersion, words[1])) continue;
    const std::string name(words[0]);
    if (!is_in(asked, name)) continue;
    if (any_of(out, [&](const auto& each) { return each.first == name; })) continue;
    out.emplace_back(name, words[1]);
  }
  return out;
}

}  // namespace plumbline
