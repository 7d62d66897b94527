// The user's configuration file: one more place where options come from, and no permission.

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "cli/options_source.h"
#include "core/json.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// A home with a configuration file of this text.
class Home {
 public:
  explicit Home(const std::string& text) {
    fs::create_directories(folder_.path("config/plumbline"));
    folder_.write("config/plumbline/config.json", text);
    chmod(path().c_str(), 0644);
  }
  std::string path() const { return folder_.path("config/plumbline/config.json"); }
  const ScratchFolder& folder() const { return folder_; }
  Finished run(const std::vector<std::string>& words,
               std::vector<std::string> environment = {}) const {
    environment.push_back("XDG_CONFIG_HOME=" + folder_.path("config"));
    return run_program(plumbline_argv(words), environment);
  }
  // "value from origin" of an option as `config` shows it.
  std::string shown(const std::string& option, std::vector<std::string> words = {},
                    const std::vector<std::string>& environment = {}) const {
    words.insert(words.begin(), {"config", "--json"});
    const Finished done = run(words, environment);
    const json all = json::parse(done.out, nullptr, false);
    if (!all.is_object()) return done.err;
    return all[option].value("value", "") + " from " + all[option].value("origin", "");
  }

 private:
  ScratchFolder folder_;
};

TEST(UserOptions, StandBetweenVariablesAndTheLinkProfile) {
  const Home home(R"({"chunk_bytes": "2M", "spin_us": 50, "fast_math": true})");
  EXPECT_EQ(home.shown("chunk_bytes"), "2Mi from user config");
  EXPECT_EQ(home.shown("spin_us"), "50 from user config");
  EXPECT_EQ(home.shown("fast_math"), "on from user config");
  EXPECT_EQ(home.shown("sock_bufsize"), "4Mi from default");
  EXPECT_EQ(home.shown("chunk_bytes", {"--link-profile", "loopback"}), "2Mi from user config");
  EXPECT_EQ(home.shown("sock_bufsize", {"--link-profile", "loopback"}),
            "1Mi from link profile loopback");
  EXPECT_EQ(home.shown("chunk_bytes", {}, {"MCCL_CHUNK_BYTES=8192"}),
            "8Ki from env MCCL_CHUNK_BYTES");
  EXPECT_EQ(home.shown("chunk_bytes", {}, {"PLUMBLINE_CHUNK_BYTES=8192"}),
            "8Ki from env PLUMBLINE_CHUNK_BYTES");
  EXPECT_EQ(home.shown("chunk_bytes", {"--chunk-bytes", "16Ki"}), "16Ki from flag");
  const std::string scenario = home.folder().write("s.json", R"({"plumbline": 1,
      "config": {"chunk_bytes": "32Ki"}, "matrix": [{"op": "barrier"}]})");
  EXPECT_EQ(home.shown("chunk_bytes", {scenario}), "32Ki from scenario");
}

TEST(UserOptions, MayNameTheLinkProfile) {
  const Home home(R"({"link_profile": "thunderbolt", "chunk_bytes": "64Ki"})");
  EXPECT_EQ(home.shown("sock_bufsize"), "8Mi from link profile thunderbolt");
  EXPECT_EQ(home.shown("chunk_bytes"), "64Ki from user config");
  EXPECT_EQ(home.shown("sock_bufsize", {"--link-profile", "loopback"}),
            "1Mi from link profile loopback");
}

TEST(UserOptions, OfNobodyAreNone) {
  const ScratchFolder folder;
  EXPECT_TRUE(read_user_options("")->values.empty());
  EXPECT_TRUE(read_user_options(folder.path("no/such/file"))->values.empty());
  const Home home("{}");
  EXPECT_EQ(home.shown("chunk_bytes"), "256Ki from default");
  // Relative paths are to be ignored.
  const Finished relative =
      run_program(plumbline_argv({"config"}), {"XDG_CONFIG_HOME=config", "HOME=x"});
  EXPECT_EQ(relative.status, 0) << relative.err;
}

TEST(UserOptions, GrantNoPermission) {
  for (const char* name : {"allow_commands", "allow-commands", "despite_findings", "yes"}) {
    const Home home(std::string(R"({")") + name + R"(": true})");
    const Finished done = home.run({"config"});
    EXPECT_EQ(done.status, 1) << name;
    EXPECT_THAT(done.err, HasSubstr("no such option")) << name;
  }
  for (const char* text :
       {R"({"ssh_config": "/tmp/x"})", R"({"static_dir": "/tmp"})", R"({"push": "auto"})"}) {
    const Finished done = Home(text).run({"config"});
    EXPECT_EQ(done.status, 1) << text;
    EXPECT_THAT(done.err, HasSubstr("no file may set it")) << text;
  }
}

TEST(UserOptions, MistakesNameTheFile) {
  const struct {
    const char *text, *said;
  } cases[] = {{"", "empty"},
               {"[]", "no JSON object"},
               {"{", ":1:"},
               {R"({"chunk_byte": 1})", "chunk_bytes"},
               {R"({"chunk_bytes": "1Q"})", "chunk_bytes"},
               {R"({"chunk_bytes": [1]})", "chunk_bytes"},
               {R"({"chunk_bytes": null})", "chunk_bytes"},
               {R"({"spin_us": 1, "spin_us": 2})", "twice"},
               {R"({"\u001b[31m": 1})", "no such option"},
               {"{\"\x1b[31m\": 1}", "control character"}};
  for (const auto& one : cases) {
    const Home home(one.text);
    const Finished done = home.run({"plan", "smoke"});
    EXPECT_EQ(done.status, 1) << one.text;
    EXPECT_THAT(done.err, HasSubstr(home.path())) << one.text;
    EXPECT_THAT(done.err, HasSubstr(one.said)) << one.text;
    EXPECT_THAT(done.err, Not(HasSubstr("\x1b"))) << one.text;
  }
}

TEST(UserOptions, AreRefusedWhereOthersCouldHaveWrittenThem) {
  const Home home(R"({"spin_us": 50})");
  chmod(home.path().c_str(), 0666);
  EXPECT_THAT(home.run({"config"}).err, HasSubstr("chmod go-w"));
  chmod(home.path().c_str(), 0644);
  chmod(home.folder().path("config/plumbline").c_str(), 0777);
  EXPECT_THAT(home.run({"config"}).err, HasSubstr("chmod go-w"));
  chmod(home.folder().path("config/plumbline").c_str(), 0755);
  EXPECT_EQ(home.run({"config"}).status, 0);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(home.path().c_str(), 12345, 12345), 0);
    EXPECT_THAT(home.run({"config"}).err, HasSubstr("belongs to user 12345"));
    ASSERT_EQ(chown(home.path().c_str(), 0, 0), 0);
  }
  fs::remove(home.path());
  ASSERT_EQ(mkfifo(home.path().c_str(), 0600), 0);
  EXPECT_THAT(home.run({"config"}).err, HasSubstr("only regular files are read"));
  fs::remove(home.path());
  home.folder().write("config/plumbline/config.json", std::string((1 << 20) + 1, ' '));
  EXPECT_THAT(home.run({"config"}).err, HasSubstr("larger than"));
}

}  // namespace
}  // namespace plumbline
