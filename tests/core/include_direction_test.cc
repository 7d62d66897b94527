// The picture of the house, kept true: which folder may include which, where platform code and
// heavy headers may stand. The table below is the drawing in docs/design.md; everything else only
// reads the source files and compares. Each rule is proven on planted text before the real tree is
// judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/places.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Folder -> folders below it, whose headers it may include. "benchmarks" compares us with peers,
// uses the library as its users do, and nothing includes it.
const std::map<std::string, std::set<std::string>>& picture() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"plumbline", {}},  // include/plumbline: what other programs see of us
      {"core", {"plumbline"}},
      {"transport", {"core"}},
      {"kernels", {"core"}},
      {"lab", {"core"}},
      {"reports", {"core"}},
      {"collectives", {"transport", "kernels", "core", "plumbline"}},
      {"probes", {"transport", "core"}},
      {"launch", {"transport", "core"}},
      {"workloads", {"collectives", "kernels", "core"}},
      {"scenarios", {"probes", "collectives", "workloads", "launch", "transport", "core"}},
      {"runs",
       {"scenarios", "probes", "collectives", "workloads", "launch", "reports", "kernels",
        "transport", "core"}},
      {"cli",
       {"runs", "scenarios", "reports", "workloads", "launch", "probes", "collectives", "kernels",
        "transport", "lab", "core"}},
      {"benchmarks", {"collectives", "kernels", "transport", "launch", "core", "plumbline"}},
  };
  return table;
}

// Top-level folders that hold no part of the program.
const std::set<std::string> kNotOfTheProgram = {"tests", "docs", "cmake", "scripts", "examples"};

// The folders of the library plumbline_comm, and what none of their headers may bring along.
const std::set<std::string> kCommFolders = {"plumbline", "transport", "kernels", "collectives"};
const std::vector<std::string> kNotOfComm = {"nlohmann/", "spdlog/", "core/record/", "core/json"};

// Slow to compile: they stay in the few .cc files that need them.
const std::vector<std::string> kHeavyHeaders = {"CLI/", "spdlog/", "valijson/", "boost/",
                                                "gnuplot-iostream.h"};

// System headers that one platform has alone.
const std::map<std::string, std::vector<std::string>> kPlatformHeaders = {
    {"_linux", {"linux/", "sys/epoll.h", "sys/eventfd.h", "sys/sysinfo.h", "sys/timerfd.h"}},
    {"_macos", {"mach/", "sys/event.h", "sys/sysctl.h", "libproc.h", "net/if_dl.h"}},
};

bool starts_with_any(const std::string& text, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return text.starts_with(prefix); });
}

// The library's own header converts integers unchecked; this one mends that, for all or for none.
const std::string kCheckedJson = "core/json.h";
// All that are made of it: they include one another, and .cc files include them.
const std::set<std::string> kHeavyOwn = {kCheckedJson, "core/field_json.h"};

// Doors: what lies behind them is used by one folder alone, and others ask it. Cells are measured
// through runs/conduct.h, and ranks are started nowhere else.
const std::map<std::string, std::string> kDoors = {
    {"runs/ranks/world.h", "runs"}, {"runs/run_session.h", "runs"}, {"launch/rank_set.h", "runs"}};

// The rules for one line of `path` (relative to the root, "folder/name"); empty = fine.
std::string judge_quoted(const fs::path& path, const std::string& header) {
  const std::string folder = path.begin()->string();
  if (header.starts_with("hwy/")) return {};  // Highway's own way: foreach_target.h re-includes
  if (kHeavyOwn.contains(header) && path.extension() == ".h" && !kHeavyOwn.contains(path)) {
    return "\"" + header + "\" is heavy and belongs in .cc files only";
  }
  if (const auto door = kDoors.find(header); door != kDoors.end()) {
    const bool own = header.starts_with(folder + "/");
    if (!own && folder != door->second)
      return "\"" + header + "\" is for " + door->second + " alone";
  }
  const std::string target = header.substr(0, header.find('/'));
  if (!picture().contains(target)) return "\"" + header + "\" does not start with a folder's name";
  if (target == folder || picture().at(folder).contains(target)) return {};
  return "goes uphill: " + folder + " may not include \"" + header + "\"";
}

std::string judge_system(const fs::path& path, const std::string& header) {
  if (header == "nlohmann/json.hpp") {
    return path == kCheckedJson ? "" : "<" + header + ">: include \"" + kCheckedJson + "\" instead";
  }
  if (path.extension() == ".h" && starts_with_any(header, kHeavyHeaders)) {
    return "<" + header + "> is heavy and belongs in .cc files only";
  }
  if (path.begin()->string() == "plumbline" && header.find_first_of("./") != std::string::npos) {
    return "<" + header + "> is not of the standard library, which is all that users need have";
  }
  if (path.extension() == ".h" && kCommFolders.contains(path.begin()->string()) &&
      starts_with_any(header, kNotOfComm)) {
    return "<" + header + "> is not of the library plumbline_comm";
  }
  for (const auto& [suffix, headers] : kPlatformHeaders) {
    if (starts_with_any(header, headers) && !path.stem().string().ends_with(suffix)) {
      return "<" + header + "> belongs in a *" + suffix + " file only";
    }
  }
  return {};
}

// The command line's own values, which only the commands see: what they ask of other rooms they
// put into requests. And calls that read or change what belongs to the whole process, which in the
// library is somebody else's.
std::string judge_words(const fs::path& path, const std::string& line) {
  static const std::regex process(
      R"(\b(std::signal|secure_getenv|getenv|setenv|putenv|sigaction|atexit|setlocale|umask|chdir|setrlimit)\()");
  // Modules of engines and what opens them are not of the library.
  const bool module = path.string().starts_with("collectives/engines/") ||
                      path.string().starts_with("collectives/module_");
  if (!module && kCommFolders.contains(path.begin()->string()) &&
      std::regex_search(line, process)) {
    return "belongs to the process that uses the library: " + line;
  }
  static const std::regex words(R"((^|[^:\w])(Args|Context)\b)");
  std::smatch match;
  if (path.begin()->string() == "cli" || !std::regex_search(line, match, words)) return {};
  return match[2].str() + " belongs to the files of cli only";
}

std::string judge_line(const fs::path& path, const std::string& line) {
  static const std::regex include_line(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  static const std::regex platform_line(
      R"(^\s*#\s*(if|ifdef|ifndef|elif)\b.*\b(__linux__|__linux|__APPLE__|__MACH__|__FreeBSD__|_WIN32|TARGET_OS_\w+)\b)");
  std::smatch match;
  if (std::regex_search(line, match, include_line)) {
    return match[1] == "\"" ? judge_quoted(path, match[2]) : judge_system(path, match[2]);
  }
  const std::string stem = path.stem().string();
  if (!stem.ends_with("_linux") && !stem.ends_with("_macos") &&
      std::regex_search(line, platform_line)) {
    return "asks for the platform; move that code to *_linux.cc and *_macos.cc siblings";
  }
  return judge_words(path, line);
}

std::vector<std::string> judge_source(const fs::path& path, const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string what = judge_line(path, line);
    if (!what.empty()) found.push_back(path.string() + ":" + std::to_string(number) + ": " + what);
  }
  return found;
}

// The DEPS words of a plumbline_module() call must stay inside the picture too.
std::vector<std::string> judge_cmake(const fs::path& path, const std::string& text) {
  static const std::regex module(R"(plumbline_module\(\s*(\w+)\s+DEPS\s+([^)]*))");
  std::smatch match;
  std::vector<std::string> found;
  if (!std::regex_search(text, match, module)) return found;
  std::istringstream words(match[2]);
  for (std::string word; words >> word && word != "BELOW" && word != "EXCEPT" && word != "LIBS";) {
    if (!picture().contains(match[1]) || !picture().at(match[1]).contains(word)) {
      found.push_back(path.string() + ": " + match[1].str() + " may not depend on " + word);
    }
  }
  return found;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Where a header of ours stands.
fs::path place_of(const fs::path& root, const std::string& header) {
  return header.starts_with("plumbline/") ? root / "include" / header : root / header;
}

// The headers that these bring along, themselves included, with those of other projects.
std::set<std::string> brought_along(const fs::path& root, std::vector<std::string> headers) {
  static const std::regex include_line(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  std::set<std::string> seen;
  while (!headers.empty()) {
    const std::string header = headers.back();
    headers.pop_back();
    if (!seen.insert(header).second) continue;
    std::istringstream lines(read_file(place_of(root, header)));
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
      if (std::regex_search(line, match, include_line)) headers.push_back(match[1]);
    }
  }
  return seen;
}

// Top-level folders with sources in them, hidden folders and build trees left out.
std::vector<std::string> source_folders(const fs::path& root) {
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with(".") || name.starts_with("build") ||
        name == "plumbline-out" || kNotOfTheProgram.contains(name)) {
      continue;
    }
    folders.push_back(name);
  }
  return folders;
}

TEST(include_direction, refuses_an_include_that_goes_uphill) {
  EXPECT_THAT(
      judge_source("core/stats/stats.cc", "#include \"core/units.h\"\n#include \"cli/main.h\"\n"),
      ElementsAre(HasSubstr("core/stats/stats.cc:2: goes uphill")));
  EXPECT_THAT(judge_source("probes/a.cc", "#include \"launch/rank_set.h\"\n").size(), 1);
  EXPECT_THAT(judge_source("reports/a.cc", "  #  include \"probes/probe.h\"\n").size(), 1);
  EXPECT_THAT(judge_source("runs/ranks/world.cc", "#include \"cli/args.h\"\n").size(), 1);
  EXPECT_THAT(judge_source("scenarios/runner.cc", "#include \"runs/run_folder.h\"\n").size(), 1);
  EXPECT_THAT(judge_source("kernels/a.h", "#include \"units.h\"\n"),
              ElementsAre(HasSubstr("does not start with a folder")));
}

TEST(include_direction, refuses_another_way_to_run_cells) {
  EXPECT_THAT(judge_source("cli/coll_command.cc", "#include \"runs/ranks/world.h\"\n"),
              ElementsAre(HasSubstr("is for runs alone")));
  EXPECT_THAT(judge_source("cli/a.h", "#include \"launch/rank_set.h\"\n").size(), 1);
  EXPECT_THAT(judge_source("runs/run_session.h", "#include \"runs/ranks/world.h\"\n"), IsEmpty());
  EXPECT_THAT(judge_source("launch/rank_set.cc", "#include \"launch/rank_set.h\"\n"), IsEmpty());
  EXPECT_THAT(judge_source("cli/a.cc", "#include \"runs/conduct.h\"\n"), IsEmpty());
}

TEST(include_direction, accepts_downhill_includes) {
  EXPECT_THAT(judge_source("cli/main.cc",
                           "#include \"lab/lab.h\"\n#include \"core/log.h\"\n"
                           "#include <CLI/CLI.hpp>\n#include <vector>\n"),
              IsEmpty());
}

TEST(include_direction, refuses_platform_code_outside_its_siblings) {
  EXPECT_THAT(judge_source("core/host/host.cc", "#ifdef __linux__\n#endif\n").size(), 1);
  EXPECT_THAT(judge_source("core/host/host.h", "#if defined(__APPLE__)\n").size(), 1);
  EXPECT_THAT(judge_source("core/host/host_linux.cc", "#ifdef __linux__\n"), IsEmpty());
  EXPECT_THAT(judge_source("transport/poller.cc", "#include <sys/epoll.h>\n").size(), 1);
  EXPECT_THAT(judge_source("transport/poller_linux.cc", "#include <sys/epoll.h>\n"), IsEmpty());
  EXPECT_THAT(judge_source("transport/poller_linux.cc", "#include <sys/event.h>\n").size(), 1);
}

TEST(include_direction, refuses_heavy_headers_in_headers) {
  EXPECT_THAT(judge_source("cli/a.h", "#include <CLI/CLI.hpp>\n").size(), 1);
  EXPECT_THAT(judge_source("core/a.h", "#include \"core/json.h\"\n").size(), 1);
  EXPECT_THAT(judge_source("core/a.h", "#include \"core/field_json.h\"\n").size(), 1);
  EXPECT_THAT(judge_source("core/a.h", "#include <nlohmann/json_fwd.hpp>\n"), IsEmpty());
  EXPECT_THAT(judge_source("core/a.cc", "#include \"core/json.h\"\n"), IsEmpty());
}

TEST(include_direction, refuses_json_with_unchecked_integers) {
  EXPECT_THAT(judge_source("reports/a.cc", "#include <nlohmann/json.hpp>\n"),
              ElementsAre(HasSubstr("core/json.h")));
  EXPECT_THAT(judge_source("core/json.h", "#include <nlohmann/json.hpp>\n"), IsEmpty());
}

TEST(include_direction, refuses_the_command_line_outside_cli) {
  EXPECT_THAT(judge_source("runs/a.h", "int run(const Args& args, Context& context);\n"),
              ElementsAre(HasSubstr("runs/a.h:1: Args belongs to the files of cli only")));
  EXPECT_THAT(judge_source("scenarios/a.cc", "  Context context;\n").size(), 1);
  EXPECT_THAT(judge_source("cli/a.h", "int run(const Args& args, Context& context);\n"), IsEmpty());
  EXPECT_THAT(judge_source("runs/a.cc", "  ProbeContext context;\n  gloo::Context other;\n"),
              IsEmpty());
}

TEST(include_direction, refuses_a_link_line_that_goes_uphill) {
  EXPECT_THAT(
      judge_cmake("core/CMakeLists.txt", "plumbline_module(transport DEPS core launch BELOW deep)"),
      ElementsAre(HasSubstr("transport may not depend on launch")));
  EXPECT_THAT(judge_cmake("x", "plumbline_module(probes DEPS core transport\n BELOW deep)"),
              IsEmpty());
}

TEST(include_direction, refuses_what_users_of_the_library_need_not_have) {
  EXPECT_THAT(judge_source("plumbline/a.h",
                           "#include <fmt/core.h>\n#include <unistd.h>\n"
                           "#include <span>\n#include \"plumbline/b.h\"\n")
                  .size(),
              2);
  EXPECT_THAT(judge_source("plumbline/a.h", "#include \"core/error.h\"\n"),
              ElementsAre(HasSubstr("goes uphill")));
  EXPECT_THAT(judge_source("transport/a.h", "#include <nlohmann/json_fwd.hpp>\n").size(), 1);
  EXPECT_THAT(judge_source("kernels/a.cc", "  const char* set = std::getenv(\"KERNEL\");\n").size(),
              1);
  EXPECT_THAT(judge_source("launch/a.cc", "  std::getenv(\"PATH\");\n"), IsEmpty());
}

// The library is transport, kernels and the operations of collectives; measuring, which knows
// records, is not.
TEST(include_direction, the_library_knows_no_records) {
  const fs::path root = test::source_dir();
  std::vector<std::string> headers = {"collectives/communicator_impl.h", "collectives/prepared.h",
                                      "collectives/schedule_builder.h"};
  for (const char* folder : {"include/plumbline", "transport", "kernels"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const bool ours = entry.path().extension() == ".h";
      const bool public_one = std::string(folder) == "include/plumbline";
      const fs::path base = public_one ? root / "include" : root;
      if (ours) headers.push_back(fs::relative(entry.path(), base).string());
    }
  }
  const std::set<std::string> all = brought_along(root, headers);
  EXPECT_TRUE(all.contains("core/options/options.h"));
  EXPECT_TRUE(all.contains("tl/expected.hpp"));
  for (const std::string& header : all) {
    EXPECT_FALSE(starts_with_any(header, kNotOfComm)) << header;
  }
}

TEST(include_direction, the_picture_has_no_cycle) {
  for (const auto& [folder, below] : picture()) {
    for (const auto& other : below) {
      ASSERT_TRUE(picture().contains(other)) << other << " is not in the picture";
      EXPECT_FALSE(picture().at(other).contains(folder)) << folder << " and " << other;
    }
  }
}

TEST(include_direction, the_tree_keeps_to_the_picture) {
  if (test::kSanitized) GTEST_SKIP() << test::kSources;
  const fs::path root = test::source_dir();
  size_t files = 0;
  for (const std::string& folder : source_folders(root)) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      // Headers for users are included by their path below include/.
      const fs::path path = fs::relative(entry.path(), folder == "include" ? root / folder : root);
      const std::string extension = path.extension().string();
      std::vector<std::string> found;
      if (extension == ".h" || extension == ".cc") {
        ++files;
        ASSERT_TRUE(picture().contains(path.begin()->string()))
            << path << ": sources in a folder that is not in the picture";
        found = judge_source(path, read_file(entry.path()));
      } else if (path.filename() == "CMakeLists.txt") {
        found = judge_cmake(path, read_file(entry.path()));
      }
      for (const std::string& violation : found) ADD_FAILURE() << violation;
    }
  }
  EXPECT_GT(files, 20u) << "no sources under " << root;
}

}  // namespace
}  // namespace plumbline
