#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>

#include "core/file.h"
#include "core/line_reader.h"
#include "core/record/event.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

class InputFile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  TemporaryFolder folder_;
};

// Opening a FIFO that nobody writes waits for ever.
TEST_F(InputFile, APipeADeviceASocketAndAFolderAreRefusedAtOnce) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  ASSERT_EQ(symlink(path("fifo").c_str(), path("link").c_str()), 0);
  const Fd listener(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path("socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::pair<std::string, const char*> cases[] = {
      {path("fifo"), "is a pipe"},  {path("link"), "is a pipe"},     {"/dev/zero", "is a device"},
      {"/dev/null", "is a device"}, {path("socket"), "is a socket"}, {path(""), "is a folder"}};
  for (const auto& [name, words] : cases) {
    for (const auto& opened :
         {open_input_file(name).map([](const Fd&) {}), read_input_file(name, 10).map([](auto&&) {}),
          LineReader::open(name, 10).map([](auto&&) {}),
          for_each_event(name, [](const SoakEvent&) {})}) {
      ASSERT_FALSE(opened) << name;
      EXPECT_EQ(opened.error().code, ErrorCode::kConfig);
      EXPECT_THAT(opened.error().message(), HasSubstr(name));
      EXPECT_THAT(opened.error().message(), HasSubstr(words));
    }
  }
}

TEST_F(InputFile, IsReadWholeOrNotAtAll) {
  EXPECT_EQ(read_input_file(file("a", std::string("x\0y\n", 4)), 4).value(),
            std::string("x\0y\n", 4));
  EXPECT_EQ(read_input_file(file("empty", ""), 4).value(), "");
  const auto large = read_input_file(file("b", "12345"), 4);
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message(), HasSubstr("b is larger than 4 bytes"));
  const auto huge = read_input_file(file("c", std::string((1 << 20) + 1, ' ')), 1 << 20);
  ASSERT_FALSE(huge);
  EXPECT_THAT(huge.error().message(), HasSubstr("larger than 1 MiB"));
  EXPECT_EQ(read_input_file(path("none"), 4).error().sys_errno, ENOENT);
}

// Files that do not tell their size.
TEST_F(InputFile, AFileOfTheKernelIsBoundedToo) {
  if (access("/proc/self/maps", R_OK) != 0) GTEST_SKIP() << "this system has no /proc";
  EXPECT_TRUE(read_input_file("/proc/self/maps", 64 << 20));
  EXPECT_FALSE(read_input_file("/proc/self/maps", 10));
}

}  // namespace
}  // namespace plumbline
