// What every test process finds, whoever runs it and wherever: a folder for temporary files that
// nobody else knows, so that fixed names in it meet no other test and no other user; the umask with
// which files are readable; and none of the variables that plumbline or its launchers would read.
// It is linked into every program of tests.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/places.h"

namespace plumbline {

std::string test::source_dir() { return PLUMBLINE_SOURCE_DIR; }

std::string test::program_path() { return PLUMBLINE_BINARY; }

namespace {

namespace fs = std::filesystem;

// Beginnings of names; "=" ends a whole one.
constexpr std::array<std::string_view, 17> kForeign = {
    "MCCL_",        "PLUMBLINE_",   "OMPI_",         "PMI_",     "PMIX_",       "MPI_",
    "SLURM_",       "MLX_",         "TORCHELASTIC_", "RANK=",    "LOCAL_RANK=", "WORLD_SIZE=",
    "MASTER_ADDR=", "MASTER_PORT=", "NO_COLOR=",     "COLUMNS=", "GROUP_RANK="};

void forget_foreign_variables() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    for (const std::string_view start : kForeign) {
      if (text.starts_with(start)) names.emplace_back(text.substr(0, text.find('=')));
    }
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

class Surroundings : public testing::Environment {
 public:
  void SetUp() override {
    umask(022);
    setenv("TERM", "xterm", 1);  // what a test's own terminal is
    forget_foreign_variables();
    // Started by a test as somebody else, a program cannot write where that test can.
    for (const fs::path& base : {fs::temp_directory_path(), fs::path("/tmp")}) {
      std::string pattern = (base / "pl-XXXXXX").string();  // short, for the names of sockets
      if (mkdtemp(pattern.data()) == nullptr) continue;
      folder_ = pattern;
      break;
    }
    ASSERT_NE(folder_, "") << "no folder can be made in " << fs::temp_directory_path();
    ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);  // for tests of root that become somebody else
    // TempDir() of GoogleTest looks at the first, the standard library at the second.
    setenv("TEST_TMPDIR", folder_.c_str(), 1);
    setenv("TMPDIR", folder_.c_str(), 1);
    // Whoever runs the tests has a configuration and a list of runs that are not theirs.
    setenv("XDG_CONFIG_HOME", (folder_ + "/config").c_str(), 1);
    setenv("XDG_STATE_HOME", (folder_ + "/state").c_str(), 1);
  }
  void TearDown() override {
    std::error_code code;
    if (!folder_.empty()) fs::remove_all(folder_, code);
  }

 private:
  std::string folder_;
};

// GoogleTest owns it. Before main() because that is GoogleTest's.
[[maybe_unused]] const testing::Environment* const kSurroundings =
    testing::AddGlobalTestEnvironment(new Surroundings);

}  // namespace
}  // namespace plumbline
