// Host files of any format: each is refused with problems, or becomes hosts that can be checked for
// every backend, and written in their own form so that they read back the same.

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/file.h"
#include "scenarios/host_files/backends.h"
#include "scenarios/placement.h"

namespace {

plumbline::HostFile as_file(const std::string& text, bool* sound) {
  const plumbline::TemporaryFolder folder;
  const std::string path = folder.path().string() + "/hosts";
  std::ofstream(path, std::ios::binary) << text;
  const auto file = plumbline::load_host_file(path);
  *sound = file.has_value();
  if (!file && file.error().empty()) std::abort();  // refused without a word
  return file ? *file : plumbline::HostFile{};
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  bool sound = false;
  const auto file = as_file(std::string(reinterpret_cast<const char*>(data), size), &sound);
  if (!sound) return 0;
  for (const auto& row : plumbline::backend_table()) {
    // Only a name that MPI's list cannot hold, and a device matrix without machines, are found
    // late.
    const bool fits = plumbline::check_host_file(file, &row).empty();
    const bool late = std::string(row.name) == "mpi" || !plumbline::why_not_runnable(file).empty();
    if (fits && !late && !row.files(file, {"/x", 0})) std::abort();
  }
  if (file.hosts.empty() || plumbline::reachable_groups(file.hosts).empty()) std::abort();
  for (const auto& format : plumbline::host_file_formats()) {
    const auto written = plumbline::write_host_file(file, format, 0);
    if (!written) continue;
    // Ranks of one host become several in a ring, two users of one machine one in MPI's list.
    const auto back = as_file(written->text, &sound);
    const bool counts = &format == file.row && std::string(format.name) != "mpi";
    if (!sound || back.row != &format) std::abort();
    if (counts && back.hosts.size() != file.hosts.size()) std::abort();
  }
  return 0;
}
