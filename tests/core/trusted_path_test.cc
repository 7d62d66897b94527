#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/file.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TrustedPath : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string secret(mode_t mode) const {
    std::ofstream(path("secret")) << "0123456789abcdef\n";
    chmod(path("secret").c_str(), mode);
    return path("secret");
  }
  TemporaryFolder folder_;
};

TEST_F(TrustedPath, ASecretThatOthersMayReadOrWriteIsRefusedWithTheCommandThatMendsIt) {
  EXPECT_EQ(read_secret_file(secret(0600), 100).value(), "0123456789abcdef\n");
  EXPECT_TRUE(read_secret_file(secret(0400), 100));
  for (const mode_t mode : {0604, 0640, 0620, 0602, 0644, 0666, 0610}) {
    const auto read = read_secret_file(secret(mode), 100);
    ASSERT_FALSE(read) << std::oct << mode;
    EXPECT_THAT(read.error().message(), HasSubstr("chmod 600 " + path("secret")));
  }
  // The command does mend it.
  ASSERT_EQ(chmod(path("secret").c_str(), 0600), 0);
  EXPECT_TRUE(read_secret_file(path("secret"), 100));
}

TEST_F(TrustedPath, ASecretOfSomebodyElseIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
  const std::string file = secret(0600);
  ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
  const auto read = read_secret_file(file, 100);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(), HasSubstr("belongs to user 65534"));
  EXPECT_THAT(read.error().message(), HasSubstr("chown 0 " + file));
}

TEST_F(TrustedPath, AFolderAboveThatOthersMayWriteIsRefusedWithTheCommandThatMendsIt) {
  fs::create_directories(path("a/b/c"));
  ASSERT_TRUE(check_folders_above(path("a/b/c")));
  for (const char* open : {"a", "a/b", "a/b/c"}) {
    for (const mode_t mode : {0777, 0770, 0702}) {
      ASSERT_EQ(chmod(path(open).c_str(), mode), 0);
      const Status safe = check_folders_above(path("a/b/c"));
      ASSERT_FALSE(safe) << open;
      EXPECT_THAT(safe.error().message(), HasSubstr("chmod go-w " + path(open)));
    }
    // As /tmp: what lies there cannot be replaced by others.
    ASSERT_EQ(chmod(path(open).c_str(), 01777), 0);
    EXPECT_TRUE(check_folders_above(path("a/b/c")));
    ASSERT_EQ(chmod(path(open).c_str(), 0755), 0);
    EXPECT_TRUE(check_folders_above(path("a/b/c")));
  }
}

TEST_F(TrustedPath, LinksOnTheWayAreFollowed) {
  fs::create_directories(path("open/inner"));
  fs::create_directories(path("closed"));
  fs::create_directory_symlink(path("open/inner"), path("closed/link"));
  ASSERT_TRUE(check_folders_above(path("closed/link")));
  ASSERT_EQ(chmod(path("open").c_str(), 0777), 0);
  EXPECT_FALSE(check_folders_above(path("closed/link")));
  ASSERT_EQ(chmod(path("open").c_str(), 0755), 0);
  ASSERT_EQ(chmod(path("closed").c_str(), 0777), 0);
  EXPECT_FALSE(check_folders_above(path("closed/link"))) << "the link can be replaced";
  EXPECT_FALSE(check_folders_above(path("none")));
}

// On however many steps a path leads through a folder that others may write.
TEST_F(TrustedPath, NoLinkHidesAFolderOnTheWay) {
  fs::create_directories(path("open"));
  fs::create_directories(path("safe"));
  fs::create_directory_symlink(path("safe"), path("open/link"));
  fs::create_directory_symlink(path("open/link"), path("hop"));
  std::ofstream(path("open/token")) << "0123456789abcdef";
  ASSERT_EQ(chmod(path("open/token").c_str(), 0600), 0);
  fs::create_symlink(path("open/token"), path("safe/token"));
  ASSERT_TRUE(check_folders_above(path("hop")));
  ASSERT_TRUE(read_secret_file(path("safe/token"), 100));
  ASSERT_EQ(chmod(path("open").c_str(), 0777), 0);
  EXPECT_FALSE(check_folders_above(path("hop")));
  EXPECT_FALSE(check_folders_above(path("safe/../open/link")));
  EXPECT_FALSE(read_secret_file(path("safe/token"), 100));
  fs::create_directory_symlink("round", path("round"));
  EXPECT_FALSE(check_folders_above(path("round")));
}

}  // namespace
}  // namespace plumbline
