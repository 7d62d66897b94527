#include "launch/static_binary.h"

#include <cstring>
#include <filesystem>

#include "core/input_file.h"
#include "core/sha256.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostBytes = 256u << 20;

// Little-endian unsigned number of `size` bytes; 0 beyond the end.
uint64_t number_at(std::string_view content, uint64_t at, size_t size) {
  if (at > content.size() || content.size() - at < size) return 0;
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(content[at + i]);
  }
  return value;
}

// Whether a program header asks for a loader (PT_INTERP), see elf(5). Offsets of the 64-bit form.
bool wants_loader(std::string_view content) {
  constexpr uint64_t kTableOffset = 32, kEntrySize = 54, kEntries = 56, kInterpreter = 3;
  const uint64_t table = number_at(content, kTableOffset, 8);
  const uint64_t size = number_at(content, kEntrySize, 2);
  const uint64_t entries = number_at(content, kEntries, 2);
  for (uint64_t i = 0; i < entries && table < content.size(); ++i) {
    if (number_at(content, table + i * size, 4) == kInterpreter) return true;
  }
  return false;
}

// Empty when it cannot be read, with the reason.
std::string read_whole(const std::string& path, std::string& why) {
  const Expected<std::string> content = read_input_file(path, kMostBytes);
  if (!content) {
    why = content.error().message();
    return {};
  }
  if (content->empty()) why = "empty";
  return *content;
}

}  // namespace

const std::vector<StaticMachine>& static_machines() {
  static const std::vector<StaticMachine> table = {{"x86_64", 62}, {"aarch64", 183}};
  return table;
}

std::vector<std::string> static_places(const std::string& program, const std::string& folder,
                                       const std::string& machine) {
  const std::string name = "plumbline-linux-" + machine;
  if (!folder.empty()) return {(fs::path(folder) / name).string()};
  const fs::path beside = fs::path(program).parent_path();
  return {(beside / name).string(), (beside.parent_path() / "build-static" / name).string(),
          program};
}

std::string why_not_static(std::string_view content, const StaticMachine& machine,
                           const std::string& build) {
  constexpr uint64_t kClass = 4, kOrder = 5, kMachine = 18;
  const bool elf = content.substr(0, 4) ==
                   "\x7f"
                   "ELF";
  if (!elf || number_at(content, kClass, 1) != 2 || number_at(content, kOrder, 1) != 1 ||
      number_at(content, kMachine, 2) != static_cast<uint64_t>(machine.elf_machine)) {
    return std::string("no program for Linux on ") + machine.name;
  }
  if (wants_loader(content)) return "not static: it needs a loader and shared libraries";
  if (content.find(PLUMBLINE_BUILD_MARK + build + ";") == std::string_view::npos) {
    return "not of the build " + build;
  }
  return {};
}

Expected<StaticBinary> find_static_binary(const std::vector<std::string>& places,
                                          const StaticMachine& machine, const std::string& build) {
  std::string looked;
  for (const std::string& path : places) {
    std::string why;
    std::string content = read_whole(path, why);
    if (why.empty()) why = why_not_static(content, machine, build);
    if (why.empty()) {
      return StaticBinary{path, machine.name, to_hex(sha256(content)), std::move(content)};
    }
    looked += (looked.empty() ? "" : ", ") + path + " (" + why + ")";
  }
  return fail(
      ErrorCode::kConfig,
      std::string("there is no static plumbline for Linux on ") + machine.name + ": " + looked,
      std::string("build it with scripts/static_binary.sh ") + machine.name +
          ", or say with --static-dir where it lies");
}

}  // namespace plumbline
