#include "collectives/module_loader.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <signal.h>

#include <system_error>

#include "core/host/process_facts.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

using Version = uint32_t (*)();
using Entry = EngineModule* (*)();

std::string file_of(const std::string& engine) { return "plumbline_engine_" + engine + ".so"; }

// Left open on purpose: libraries such as these do not survive being closed.
Expected<EngineModule*> open_module(const fs::path& path) {
  const KeptSignals kept;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return fail(ErrorCode::kUnsupported, why != nullptr ? why : "cannot be loaded",
                "install its library, or build plumbline again");
  }
  const auto version = reinterpret_cast<Version>(dlsym(library, "plumbline_engine_module_version"));
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "plumbline_engine_module"));
  if (version == nullptr || entry == nullptr) {
    return fail(ErrorCode::kUnsupported, path.string() + " is no module of plumbline",
                "build plumbline again");
  }
  if (version() != kEngineModuleVersion) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} has version {} of the interface, this program has {}",
                            path.string(), version(), kEngineModuleVersion),
                "build plumbline again");
  }
  return entry();
}

}  // namespace

struct KeptSignals::Kept {
  int number;
  struct sigaction action;
};

KeptSignals::KeptSignals() {
  for (int number = 1; number < NSIG; ++number) {
    Kept kept{number, {}};
    if (sigaction(number, nullptr, &kept.action) == 0) kept_.push_back(kept);
  }
}

KeptSignals::~KeptSignals() {
  // SIGKILL and SIGSTOP refuse, as they did the library.
  for (const Kept& kept : kept_) sigaction(kept.number, &kept.action, nullptr);
}

std::vector<fs::path> module_folders() {
  const Expected<std::string> program = own_program_path();
  if (!program) return {};
  const fs::path folder = fs::path(*program).parent_path();
  return {folder, folder.parent_path() / PLUMBLINE_MODULE_FOLDER};
}

Expected<EngineModule*> load_module(const std::string& engine) {
  return load_module(module_folders(), engine);
}

Expected<EngineModule*> load_module(std::span<const fs::path> folders, const std::string& engine) {
  for (const fs::path& folder : folders) {
    std::error_code unknown;
    const fs::path path = folder / file_of(engine);
    if (fs::exists(path, unknown)) return open_module(path);
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("there is no {} beside the program", file_of(engine)),
              "run scripts/packages.sh peers and build plumbline again");
}

}  // namespace plumbline
