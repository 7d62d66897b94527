// What is not there, is no module, or is of another version is refused with what to do.
#include "collectives/module_loader.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <array>
#include <fstream>

#include "tests/support/program.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;

std::string refused(const fs::path& folder, const std::string& engine) {
  const std::array folders = {folder};
  const auto module = load_module(folders, engine);
  if (module) return "";
  EXPECT_EQ(module.error().code, ErrorCode::kUnsupported);
  return module.error().message();
}

TEST(ModuleLoader, OneThatIsNotThereSaysWhatBringsIt) {
  const ScratchFolder folder;
  EXPECT_THAT(refused(folder.path(), "gloo"),
              AllOf(HasSubstr("there is no plumbline_engine_gloo.so beside the program"),
                    HasSubstr("scripts/packages.sh peers")));
  EXPECT_THAT(refused(folder.path("nowhere"), "gloo"), HasSubstr("there is no"));
}

TEST(ModuleLoader, OneOfAnotherVersionIsNotCalled) {
  EXPECT_THAT(refused(PLUMBLINE_TEST_MODULES, "stale"),
              AllOf(HasSubstr("has version 999 of the interface"), HasSubstr("build plumbline")));
}

TEST(ModuleLoader, ASharedObjectThatIsNoModuleIsRefused) {
  EXPECT_THAT(refused(PLUMBLINE_TEST_MODULES, "foreign"), HasSubstr("is no module of plumbline"));
}

TEST(ModuleLoader, AFileThatIsNoLibraryIsRefused) {
  const ScratchFolder folder;
  folder.write("plumbline_engine_text.so", "not ELF");
  EXPECT_THAT(refused(folder.path(), "text"), HasSubstr("plumbline_engine_text.so"));
  fs::create_directory(folder.path("plumbline_engine_folder.so"));
  EXPECT_NE(refused(folder.path(), "folder"), "");
}

TEST(ModuleLoader, TheFirstFolderThatHasItCounts) {
  const ScratchFolder empty;
  const std::array<fs::path, 2> folders = {empty.path(), PLUMBLINE_TEST_MODULES};
  EXPECT_THAT(load_module(folders, "stale").error().message(), HasSubstr("version 999"));
  for (const fs::path& folder : module_folders()) EXPECT_TRUE(folder.is_absolute()) << folder;
}

void other(int) {}

TEST(ModuleLoader, SignalsAreAsBefore) {
  struct sigaction before {};
  sigaction(SIGUSR2, nullptr, &before);
  {
    const KeptSignals kept;
    signal(SIGUSR2, other);
  }
  struct sigaction after {};
  sigaction(SIGUSR2, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
}  // namespace plumbline
