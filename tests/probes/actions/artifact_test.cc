// What an agent says of a model's folder: every file that is there, what is cut off or missing by
// the files' own word, and digests that tell two hosts' copies apart.
#include "probes/actions/artifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/encode.h"
#include "core/file.h"
#include "core/ranges.h"
#include "probes/actions/model_files.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ArtifactFolder : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
  }
  // One with a tensor of so many bytes, of which `cut` at the end are not there.
  void put_safetensors(const std::string& name, size_t data, size_t cut = 0) const {
    const std::string header =
        R"({"__metadata__":{"format":"mlx"},"w":{"dtype":"U8","shape":[1],"data_offsets":[0,)" +
        std::to_string(data) + "]}}";
    std::string text(8, '\0');
    text[0] = static_cast<char>(header.size());
    put(name, text + header + std::string(data - cut, 'x'));
  }
  Expected<ArtifactEvidence> look(bool deep = false, int64_t ms = 20'000) const {
    return look_at(root_.string(), deep, ms);
  }
  static Expected<ArtifactEvidence> look_at(const std::string& path, bool deep = false,
                                            int64_t ms = 20'000) {
    AskArtifact asked;
    asked.path = path;
    asked.deep = deep;
    const AgentCall call{Deadline::after_ms(ms)};
    return read_artifact(asked, call);
  }
  static std::vector<std::string> names_in(const ArtifactEvidence& artifact) {
    std::vector<std::string> out;
    for (const ArtifactFile& file : artifact.files) out.push_back(file.name);
    return out;
  }
  static const ArtifactFile& file_in(const ArtifactEvidence& artifact, const std::string& name) {
    const ArtifactFile* file =
        find_where(artifact.files, [&](const ArtifactFile& each) { return each.name == name; });
    if (file != nullptr) return *file;
    ADD_FAILURE() << "no file " << name;
    static const ArtifactFile kNone;
    return kNone;
  }

  TemporaryFolder folder_;
  fs::path root_ = folder_.path() / "model";
};

TEST_F(ArtifactFolder, SmallFilesByTheSha256ThatEverybodyKnows) {
  put("config.json", "abc");
  put("sub/empty", "");
  put(".DS_Store", "of this host alone");
  put(".cache/huggingface/x", "of this host alone");
  const auto seen = look();
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_TRUE(seen->found.value());
  EXPECT_TRUE(seen->listed);
  EXPECT_THAT(names_in(*seen), ElementsAre("config.json", "sub/empty"));
  EXPECT_EQ(file_in(*seen, "config.json").digest,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(file_in(*seen, "config.json").bytes, 3);
  EXPECT_EQ(file_in(*seen, "sub/empty").digest,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_THAT(seen->error, IsEmpty());
}

TEST_F(ArtifactFolder, OfLargeFilesSamplesAndAllWhenAskedForIt) {
  std::string text(6 << 20, 'a');
  put("weights.bin", text);
  const auto before = look();
  ASSERT_TRUE(before);
  EXPECT_TRUE(file_in(*before, "weights.bin").sampled);
  const auto whole = look(true);
  ASSERT_TRUE(whole);
  EXPECT_FALSE(file_in(*whole, "weights.bin").sampled);
  EXPECT_EQ(file_in(*whole, "weights.bin").digest, to_hex(sha256(text)));
  // The first and the last byte are in the samples; one between two of them is not.
  for (const size_t at : {size_t{0}, text.size() - 1}) {
    std::string other = text;
    other[at] = 'b';
    put("weights.bin", other);
    EXPECT_NE(file_in(*look(), "weights.bin").digest, file_in(*before, "weights.bin").digest) << at;
  }
  text[100'000] = 'b';
  put("weights.bin", text);
  EXPECT_EQ(file_in(*look(), "weights.bin").digest, file_in(*before, "weights.bin").digest);
  EXPECT_NE(file_in(*look(true), "weights.bin").digest, file_in(*whole, "weights.bin").digest);
}

TEST_F(ArtifactFolder, ACutSafetensorsFileSaysItself) {
  put_safetensors("whole.safetensors", 5000);
  put_safetensors("cut.safetensors", 5000, 96);
  put("short.safetensors", "1234");
  put("header.safetensors", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) + "{}");
  put("rubbish.safetensors", std::string("\x02\0\0\0\0\0\0\0", 8) + "[]");
  const auto seen = look();
  ASSERT_TRUE(seen);
  EXPECT_THAT(file_in(*seen, "whole.safetensors").problem, IsEmpty());
  EXPECT_THAT(file_in(*seen, "cut.safetensors").problem, HasSubstr("96 bytes are missing"));
  EXPECT_THAT(file_in(*seen, "short.safetensors").problem, HasSubstr("4 bytes"));
  EXPECT_THAT(file_in(*seen, "header.safetensors").problem, HasSubstr("longer than the file"));
  EXPECT_THAT(file_in(*seen, "rubbish.safetensors").problem, HasSubstr("no JSON"));
}

TEST_F(ArtifactFolder, ShardsOfTheIndexThatAreNotThere) {
  put("model.safetensors.index.json",
      R"({"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors", "c": "m-2.safetensors",
          "d": "../../etc/passwd", "e": "/etc/passwd", "f": 7, "g": "./m-1.safetensors",
          "h": "sub//../m-1.safetensors", "i": ["x"], "j": {"weight_map": {"k": "y"}}},
          "other": {"l": "z"}})");
  put_safetensors("m-1.safetensors", 10);
  const auto seen = look();
  ASSERT_TRUE(seen);
  EXPECT_THAT(seen->missing, ElementsAre("m-2.safetensors"));
  put_safetensors("m-2.safetensors", 10);
  EXPECT_THAT(look()->missing, IsEmpty());
  const std::string deep = R"({"weight_map": )" + std::string(100'000, '[');
  for (const std::string& text : {std::string(), std::string("[]"), std::string("{"),
                                  std::string(R"({"weight_map": 3})"), std::string("null"), deep}) {
    EXPECT_THAT(shards_in_index(text), IsEmpty()) << text.substr(0, 40);
  }
}

// How Hugging Face's cache keeps a model: links into a folder of blobs.
TEST_F(ArtifactFolder, LinksAreFollowedAndTellWhereTheyLeadNowhere) {
  put("blobs/one", "abc");
  fs::create_directories(root_ / "snapshot");
  fs::create_symlink("../blobs/one", root_ / "snapshot/config.json");
  fs::create_symlink("../blobs/gone", root_ / "snapshot/weights");
  const auto seen = look_at((root_ / "snapshot").string());
  ASSERT_TRUE(seen);
  EXPECT_EQ(file_in(*seen, "config.json").bytes, 3);
  EXPECT_THAT(file_in(*seen, "weights").problem, HasSubstr("cannot be read"));
}

TEST_F(ArtifactFolder, WhatIsNoFileIsNotOpened) {
  put("config.json", "abc");
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", root_ / "zero");
  const auto seen = look();
  ASSERT_TRUE(seen);
  EXPECT_THAT(names_in(*seen), ElementsAre("config.json"));
}

TEST_F(ArtifactFolder, NamesThatCouldMoveACursorAreLeftOutAndSaid) {
  put("a\x1b[2J", "abc");
  put("good", "abc");
  const auto seen = look();
  ASSERT_TRUE(seen);
  EXPECT_THAT(names_in(*seen), ElementsAre("good"));
  EXPECT_THAT(seen->error, HasSubstr("left out"));
}

TEST_F(ArtifactFolder, NoFolderAFileAndNoPath) {
  const auto gone = look();
  ASSERT_TRUE(gone);
  EXPECT_FALSE(gone->found.value());
  put("model.gguf", "abc");
  const auto file = look_at((root_ / "model.gguf").string());
  ASSERT_TRUE(file);
  EXPECT_THAT(names_in(*file), ElementsAre(""));
  EXPECT_EQ(file->files.at(0).bytes, 3);
  for (const char* path : {"", "models/x", "~root/x", "./x", "/x\n/y"}) {
    EXPECT_FALSE(look_at(path)) << path;
  }
}

TEST_F(ArtifactFolder, HomeIsThatOfWhoeverRunsHere) {
  put("config.json", "abc");
  const std::string before = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  ::setenv("HOME", folder_.path().c_str(), 1);
  const auto seen = look_at("~/model/");
  ::setenv("HOME", before.c_str(), 1);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->path, "~/model/");
  EXPECT_EQ(seen->folder, root_.string());
  EXPECT_TRUE(seen->found.value());
}

TEST_F(ArtifactFolder, WhatWasNotReadInTimeHasNoDigest) {
  put("config.json", "abc");
  const auto seen = look(false, 1);  // less than what is kept back for the answer
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->listed);
  EXPECT_THAT(seen->error, HasSubstr("in time"));
}

TEST_F(ArtifactFolder, WhatWasNotLookedAtIsSaid) {
  put("a/b/c/d/e/f/g/h/deep.json", "abc");
  put("top.json", "abc");
  const auto deep = look();
  ASSERT_TRUE(deep);
  EXPECT_FALSE(deep->listed);
  EXPECT_THAT(deep->error, HasSubstr("folders within folders"));
  EXPECT_THAT(names_in(*deep), ElementsAre("top.json"));
  fs::remove_all(root_ / "a");
  fs::create_directory_symlink(folder_.path(), root_ / "loop");
  const auto loop = look();
  ASSERT_TRUE(loop);
  EXPECT_FALSE(loop->listed);
  EXPECT_THAT(loop->error, HasSubstr("link to a folder"));
}

TEST_F(ArtifactFolder, MoreFilesThanCanBeToldAreNotListed) {
  for (int i = 0; i < 4097; ++i) put("f" + std::to_string(i), "");
  const auto seen = look();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->files.size(), 4096U);
  EXPECT_FALSE(seen->listed);
  EXPECT_THAT(seen->error, HasSubstr("more than 4096 files"));
}

TEST_F(ArtifactFolder, WhatMayNotBeReadIsNotCalledMissing) {
  put("config.json", "abc");
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  fs::permissions(root_, fs::perms::none);
  const auto inside = look_at((root_ / "config.json").string());
  const auto folder = look();
  fs::permissions(root_, fs::perms::owner_all);
  ASSERT_TRUE(inside);
  EXPECT_FALSE(inside->found.has_value());
  EXPECT_THAT(inside->error, HasSubstr("denied"));
  ASSERT_TRUE(folder);
  EXPECT_FALSE(folder->listed);
}

TEST(SafetensorsFile, NumbersThatCannotBe) {
  const auto file = [](const std::string& header) {
    std::string text(8, '\0');
    text[0] = static_cast<char>(header.size());
    text[1] = static_cast<char>(header.size() >> 8);
    return text + header;
  };
  const std::string huge = file(R"({"w":{"data_offsets":[0,18446744073709551615]}})");
  EXPECT_THAT(safetensors_problem(huge, static_cast<int64_t>(huge.size())),
              HasSubstr("18446744073709551615 bytes are missing"));
  const std::string odd = file(R"({"w":{"data_offsets":[0,-4]},"v":{"data_offsets":[1e99]}})");
  EXPECT_THAT(safetensors_problem(odd, static_cast<int64_t>(odd.size())), IsEmpty());
  const std::string deep = file(std::string(300, '{'));
  EXPECT_THAT(safetensors_problem(deep, static_cast<int64_t>(deep.size())), HasSubstr("no JSON"));
  const std::string elsewhere = file(R"({"__metadata__":{"x":{"data_offsets":[0,9]}}})");
  EXPECT_THAT(safetensors_problem(elsewhere, static_cast<int64_t>(elsewhere.size())), IsEmpty());
}

}  // namespace
}  // namespace plumbline
