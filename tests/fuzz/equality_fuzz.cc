// What lies in a model's folder and what programs print of versions and processes: the first byte
// chooses the reader, the rest is its text. Reading ends, and what comes out is fit to be shown.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/text.h"
#include "probes/actions/model_files.h"
#include "probes/process_chain.h"
#include "probes/software.h"
#include "probes/sources/macos_power.h"

namespace plumbline {
namespace {

void expect_shown(std::string_view text) {
  if (!is_printable(text)) std::abort();
}

void attack(uint8_t choice, const std::string& text) {
  switch (choice % 5) {
    case 0:
      for (const std::string& name : shards_in_index(text)) {
        expect_shown(name);
        if (name.starts_with("..") || name[0] == '/') std::abort();
      }
      break;
    case 1:
      expect_shown(safetensors_problem(text, static_cast<int64_t>(text.size())));
      expect_shown(safetensors_problem(text, INT64_MAX));
      break;
    case 2:
      for (const auto& [name, version] : parse_python_versions(text, {"python", "mlx"})) {
        expect_shown(version);
        if (compare_versions(version, version) != 0) std::abort();
      }
      break;
    case 3: {
      const ProcessTable table = parse_processes(text);
      for (const auto& [pid, row] : table) {
        if (parents_of(table, pid).size() > kMostParents) std::abort();
        if (!is_program_name(program_name(row.command))) std::abort();
      }
      break;
    }
    default:
      for (const auto& [name, value] : parse_pmset_therm(text)) expect_shown(name + value);
      parse_low_power_mode(text);
  }
}

}  // namespace
}  // namespace plumbline

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  plumbline::attack(data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
