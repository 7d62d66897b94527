#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/encode.h"
#include "core/file.h"
#include "launch/push.h"
#include "tests/support/mac_program.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const StaticMachine& machine_named(const std::string& platform) {
  const std::vector<StaticMachine>& all = static_machines();
  return *std::find_if(all.begin(), all.end(), [&](const StaticMachine& machine) {
    return platform_of(machine) == platform;
  });
}
const StaticMachine& kArm = machine_named("Linux aarch64");
const StaticMachine& kMac = machine_named("Darwin arm64");

// The beginning of an executable with these program headers (their p_type), and the mark.
std::string elf(int machine, const std::vector<int>& headers, const std::string& build) {
  constexpr size_t kHeader = 64, kEntry = 56;
  std::string text = "\x7f";
  text += "ELF\x02\x01\x01";
  text.resize(kHeader + kEntry * headers.size());
  text[18] = static_cast<char>(machine);
  text[32] = kHeader;
  text[54] = kEntry;
  text[56] = static_cast<char>(headers.size());
  for (size_t i = 0; i < headers.size(); ++i) {
    text[kHeader + i * kEntry] = static_cast<char>(headers[i]);
  }
  return text + "..." PLUMBLINE_BUILD_MARK + build + ";...";
}

TEST(StaticBinary, IsWhatItsNameSays) {
  EXPECT_EQ(why_not_static(elf(183, {1, 1}, "1-a"), kArm, "1-a"), "");
  EXPECT_THAT(why_not_static(elf(62, {1}, "1-a"), kArm, "1-a"), HasSubstr("no program for Linux"));
  EXPECT_THAT(why_not_static(elf(183, {6, 3, 1}, "1-a"), kArm, "1-a"), HasSubstr("not static"));
  EXPECT_THAT(why_not_static(elf(183, {1}, "1-ab"), kArm, "1-a"), HasSubstr("build 1-a"));
  EXPECT_THAT(why_not_static(elf(183, {1}, ""), kArm, "1-a"), HasSubstr("build 1-a"));
}

TEST(StaticBinary, HostileBytesAreRefused) {
  const std::string whole = elf(183, {1, 3}, "1-a");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(why_not_static(std::string_view(whole).substr(0, size), kArm, "1-a"), "") << size;
  }
  std::string wild = elf(183, {1}, "1-a");
  for (size_t at = 32; at < 40; ++at) wild[at] = '\xff';  // a table beyond all memory
  wild[56] = wild[57] = '\xff';
  EXPECT_EQ(why_not_static(wild, kArm, "1-a"), "");  // no loader in a table that is not there
}

TEST(StaticBinary, TheFirstThatIsRightIsTaken) {
  const TemporaryFolder folder;
  const auto places = static_places((folder.path() / "build" / "plumbline").string(), "", kArm);
  ASSERT_THAT(places,
              ElementsAre((folder.path() / "build" / "plumbline-linux-aarch64").string(),
                          (folder.path() / "build-static" / "plumbline-linux-aarch64").string(),
                          (folder.path() / "build" / "plumbline").string()));
  for (const std::string& place : places) fs::create_directories(fs::path(place).parent_path());
  const auto nothing = find_static_binary(places, kArm, "1-a");
  ASSERT_FALSE(nothing);
  for (const std::string& place : places) {
    EXPECT_THAT(nothing.error().message(), HasSubstr(place));
  }
  EXPECT_THAT(nothing.error().message(), HasSubstr("scripts/static_binary.sh aarch64"));
  std::ofstream(places[0]) << elf(183, {1}, "1-old");
  std::ofstream(places[1]) << elf(183, {1}, "1-a");
  const auto found = find_static_binary(places, kArm, "1-a");
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->path, places[1]);
  EXPECT_EQ(found->sha256, to_hex(sha256(elf(183, {1}, "1-a"))));
  const auto other = find_static_binary(places, kArm, "2");
  EXPECT_THAT(other.error().message(), HasSubstr("not of the build 2"));
}

TEST(StaticBinary, AFolderThatIsNamedIsTheOnlyOne) {
  EXPECT_THAT(static_places("/opt/bin/plumbline", "/srv/static", machine_named("Linux x86_64")),
              ElementsAre("/srv/static/plumbline-linux-x86_64"));
}

TEST(StaticBinary, AMacsIsReadAsOneOfMacs) {
  test::MacProgram program;
  EXPECT_EQ(why_not_static(program.bytes(), kMac, "1-a"), "");
  EXPECT_EQ(why_not_static(program.bytes(), kMac, "1-b"), "not of the build 1-b");
  EXPECT_EQ(why_not_static(elf(183, {1}, "1-a"), kMac, "1-a"), "a program of Linux (ELF)");
  EXPECT_EQ(why_not_static(program.bytes(), kArm, "1-a"), "no program for Linux on aarch64");
  program.libraries.emplace_back("/opt/homebrew/lib/libfmt.dylib");
  EXPECT_THAT(why_not_static(program.bytes(), kMac, "1-a"),
              HasSubstr("it needs /opt/homebrew/lib/libfmt.dylib"));
}

TEST(StaticBinary, AMacsLiesWhereItsBuildLeavesIt) {
  const TemporaryFolder folder;
  const auto places = static_places((folder.path() / "build" / "plumbline").string(), "", kMac);
  ASSERT_THAT(places,
              ElementsAre((folder.path() / "build" / "plumbline-darwin-arm64").string(),
                          (folder.path() / "build-macos-ship" / "plumbline-darwin-arm64").string(),
                          (folder.path() / "build" / "plumbline").string()));
  const auto nothing = find_static_binary(places, kMac, "1-a");
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().message(), HasSubstr("no plumbline to copy to Darwin arm64"));
  EXPECT_THAT(nothing.error().message(), HasSubstr("scripts/cross_macos.sh --ship"));
  fs::create_directories(fs::path(places[1]).parent_path());
  std::ofstream(places[1], std::ios::binary) << test::MacProgram().bytes();
  const auto found = find_static_binary(places, kMac, "1-a");
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->path, places[1]);
}

}  // namespace
}  // namespace plumbline
