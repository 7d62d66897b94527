// Tests must not find what another test, another user or a launcher left
// (tests/support/surroundings.cc).
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace plumbline {
namespace {

namespace fs = std::filesystem;

TEST(Surroundings, TheFolderForTemporaryFilesIsThisProcesssOwn) {
  const fs::path folder = fs::temp_directory_path();
  EXPECT_TRUE(fs::equivalent(folder, testing::TempDir()));
  EXPECT_TRUE(fs::is_empty(folder));
  struct stat state {};
  ASSERT_EQ(stat(folder.c_str(), &state), 0);
  EXPECT_EQ(state.st_uid, getuid());
  EXPECT_EQ(state.st_mode & 0022U, 0U);
}

TEST(Surroundings, FilesAreReadableAndNoVariableOfALauncherIsThere) {
  const fs::path file = fs::temp_directory_path() / "file";
  std::ofstream(file) << "x";
  EXPECT_EQ(fs::status(file).permissions() & fs::perms::all, fs::perms(0644));
  for (const char* name : {"RANK", "WORLD_SIZE", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
                           "MCCL_CHUNK_BYTES", "PLUMBLINE_RANK", "NO_COLOR", "COLUMNS"}) {
    EXPECT_EQ(std::getenv(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace plumbline
