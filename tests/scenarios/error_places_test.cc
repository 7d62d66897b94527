// Whatever is wrong with a file that a person wrote is told with the file and the line, in words of
// ours: hundreds of damaged copies of the files that ship, and of host files.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>

#include "scenarios/host_files/backends.h"
#include "scenarios/read_expect.h"
#include "tests/scenarios/host_file_support.h"
#include "tests/scenarios/support.h"
#include "tests/support/places.h"
#include "tests/support/sanitized.h"

namespace plumbline::scenario_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// By which a library, or C++, would betray itself.
const std::vector<std::string>& foreign_words() {
  static const std::vector<std::string> kWords = {
      "json.exception", "parse_error",  "parse error", "syntax error",  "type_error",
      "out_of_range",   "type must be", "cannot use",  "while parsing", "nlohmann",
      "std::",          "basic_string", "bad_alloc",   "what()",        "lexical",
      "unexpected end", "last read",    "terminate"};
  return kWords;
}

std::string text_of(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

void expect_placed(const std::string& line, const std::string& file, const std::string& text) {
  std::string quoted = std::regex_replace(file, std::regex(R"([.+()\[\]])"), R"(\$&)");
  const std::regex placed("^" + quoted + ":[0-9]+(:[0-9]+)?: .+");
  EXPECT_TRUE(std::regex_search(line, placed)) << line << "\n" << text;
  for (const std::string& word : foreign_words()) {
    EXPECT_EQ(line.find(word), std::string::npos) << word << ": " << line << "\n" << text;
  }
}

// One letter gone, doubled, exchanged with its neighbour or for another one, or all behind it gone.
std::string damaged(const std::string& text, std::mt19937& random) {
  const auto pick = [&random](size_t n) { return static_cast<size_t>(random() % n); };
  constexpr std::string_view kOther = "{}[],:\"'#/\\ \n0x-";
  std::string out = text;
  const size_t at = pick(text.size() - 1);
  switch (pick(6)) {
    case 0:
      return out.erase(at, 1);
    case 1:
      return out.insert(at, 1, out[at]);
    case 2:
      std::swap(out[at], out[at + 1]);
      return out;
    case 3:
      out[at] = kOther[pick(kOther.size())];
      return out;
    case 4:
      return out.substr(0, at);
    default:
      out[at] = static_cast<char>('a' + static_cast<char>(pick(26)));
      return out;
  }
}

TEST(ErrorPlaces, DamagedScenariosAreNamedByFileAndLine) {
  std::mt19937 random(12);
  constexpr size_t kRounds = test::kSanitized ? 20 : 150;
  size_t refused = 0, files = 0;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(test::source_dir()) / "scenarios")) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    const std::string text = text_of(entry.path());
    for (size_t i = 0; i < kRounds; ++i) {
      const std::string broken = damaged(text, random);
      const std::string file = entry.path().filename().string();
      const auto scenario = parse_scenario(broken, file, vocabulary());
      if (scenario) continue;
      ++refused;
      for (const ScenarioProblem& problem : scenario.error()) {
        expect_placed(to_line(problem), file, broken);
      }
    }
  }
  EXPECT_GE(files, 10u);
  EXPECT_GE(refused, kRounds * 14 / 3);
}

TEST(ErrorPlaces, DamagedHostFilesAreNamedByFileAndLine) {
  const std::vector<std::string> texts = {
      kOwn,
      R"([{"ssh": "a", "ips": ["10.0.0.1"], "rdma": [null, "rdma_en3"]},
          {"ssh": "b", "ips": ["10.0.0.2"], "rdma": ["rdma_en3", null]}])",
      R"({"backend": "jaccl", "envs": ["A=1"],
          "hosts": [{"ssh": "a", "ips": ["10.0.0.1"], "rdma": [null, "rdma_en3"]},
                    {"ssh": "b", "ips": [], "rdma": ["rdma_en3", null]}]})",
      "[[null, \"rdma_en3\"],\n [\"rdma_en3\", null]]",
      "[[\"10.0.0.1:5000\"],\n [\"10.0.0.2:5000\"]]",
      R"({"local": 3})"};
  std::mt19937 random(13);
  size_t refused = 0;
  for (const std::string& text : texts) {
    ASSERT_EQ(load(text).problems, "") << text;
    for (int i = 0; i < 200; ++i) {
      const std::string broken = damaged(text, random);
      std::istringstream lines(load(broken).problems);
      for (std::string line; std::getline(lines, line);) {
        ++refused;
        expect_placed(line, "FILE", broken);
      }
    }
  }
  EXPECT_GE(refused, 700u);
}

TEST(ErrorPlaces, DamagedRulesAreNamedByFileAndLine) {
  const std::string text = R"({"plumbline_rules": 1,
  "expect": [
    {"name": "fast", "where": {"op": "allreduce", "bytes": ">=16Mi"}, "busbw_of_roof": ">=0.7"},
    {"where": {"kind": "latency", "config": {"spin_us": 50}}, "p50": "<=10us", "optional": true}
  ]})";
  const TempFolder folder;
  std::mt19937 random(14);
  size_t refused = 0;
  for (int i = 0; i < 400; ++i) {
    const std::string broken = damaged(text, random);
    const std::string path = folder.write("rules.json", broken);
    const auto rules = load_rules(path, vocabulary());
    if (rules) continue;
    for (const ScenarioProblem& problem : rules.error()) {
      ++refused;
      expect_placed(to_line(problem), path, broken);
    }
  }
  EXPECT_GE(refused, 250u);
}

// The line is that of the key or value that is meant, whatever stands around it.
TEST(ErrorPlaces, EachProblemHasTheLineOfItsValue) {
  const auto lines_of = [](const std::string& text) {
    const auto scenario = parse_scenario(text, "s.json", vocabulary());
    EXPECT_FALSE(scenario);
    return scenario ? std::string() : all_lines(scenario.error());
  };
  const std::string lines = lines_of(R"({
  "plumbline": 1,
  // a comment
  "sed": 5,
  "matrix": [
    {"op": "allreduce", "bytes": 8},
    {"op": [
       "allreduce",
       "allredcue"],
     "bytes": 8,
     "stop": {"min_n": 0}}
  ],
  "config": {
    "chunk_byte": 1
  }
})");
  EXPECT_THAT(lines, HasSubstr("s.json:4:3: $.sed: unknown key 'sed'; did you mean 'seed'?"));
  EXPECT_THAT(lines, HasSubstr("s.json:9:8: $.matrix[1].op[1]: "));
  EXPECT_THAT(lines, HasSubstr("s.json:11:15: $.matrix[1].stop.min_n: is 0"));
  EXPECT_THAT(lines, HasSubstr("s.json:14:5: $.config.chunk_byte: unknown option"));
  // What is missing is told where it would be.
  EXPECT_THAT(lines_of("{\n\"plumbline\": 1,\n\"matrix\": [\n{\"op\": \"reduce\"}]}"),
              HasSubstr("s.json:4:1: $.matrix[0]: key 'bytes' is missing"));
}

// Each of the files of an include has its own lines, also for what is wrong with the whole.
TEST(ErrorPlaces, AProblemOfAnIncludedFileHasThatFilesLine) {
  const TempFolder folder;
  const std::string base = folder.write("base.json", R"({
  "plumbline": 1,
  "probes": ["ip"],
  "config": {"spin_us": 5,
             "chunk_bites": 8},
  "matrix": [{"op": "allreduce", "bytes": 8}]
})");
  const std::string top = folder.write("top.json", R"({
  "plumbline": 1,
  "include": ["base.json"],
  "config": {
    "spinus": 5},
  "matrix": [
    {"op": "allreduce",
     "ranks": 99, "hosts": "pears"}]
})");
  const auto scenario = load_scenario(top, vocabulary());
  ASSERT_FALSE(scenario);
  const std::string lines = all_lines(scenario.error());
  EXPECT_THAT(lines, HasSubstr(base + ":5:14: $.config.chunk_bites: unknown option")) << lines;
  EXPECT_THAT(lines, HasSubstr(top + ":5:5: $.config.spinus: unknown option")) << lines;
  EXPECT_THAT(lines, HasSubstr(top + ":8:19: $.matrix[0].hosts")) << lines;
  EXPECT_THAT(lines, HasSubstr(top + ":7:5: $.matrix[0]: key 'bytes' is missing")) << lines;
}

TEST(ErrorPlaces, HostFilesThatDoNotFitABackendNameTheLine) {
  const TempFolder folder;
  const std::string path = folder.write("h.json", R"([
  {"ssh": "a", "ips": ["10.0.0.1"],
   "rdma": [null, "rdma_en3"]},
  {"ssh": "a", "ips": ["10.0.0.2"],
   "rdma": ["rdma_en3",
            null]}
])");
  const auto file = load_host_file(path);
  ASSERT_TRUE(file);
  const std::string lines = all_lines(check_host_file(*file, nullptr));
  EXPECT_THAT(lines, HasSubstr(path + ":4:4: $[1].ssh: 'a' is the machine of $[0] too")) << lines;
}

// [] on the diagonal of the device matrix means null in a scenario's own hosts too.
TEST(ErrorPlaces, AnEmptyListOnTheDiagonalIsAsGoodAsNull) {
  const auto scenario = parse_scenario(R"({"plumbline": 1, "probes": ["ip"], "hosts": [
      {"name": "a", "ssh": "a", "data": "10.0.0.1/24", "rdma": [[], "rdma_en3"]},
      {"name": "b", "ssh": "b", "data": "10.0.0.2/24", "rdma": ["rdma_en3", []]}]})",
                                       "s.json", vocabulary());
  ASSERT_TRUE(scenario) << all_lines(scenario.error());
  EXPECT_EQ(scenario->hosts[0].rdma, (std::vector<std::vector<std::string>>{{}, {"rdma_en3"}}));
  const auto off = parse_scenario(R"({"plumbline": 1, "probes": ["ip"], "hosts": [
      {"name": "a", "ssh": "a", "data": "10.0.0.1/24", "rdma": [[], []]},
      {"name": "b", "ssh": "b", "data": "10.0.0.2/24", "rdma": [null, null]}]})",
                                  "s.json", vocabulary());
  ASSERT_FALSE(off);
  EXPECT_THAT(all_lines(off.error()),
              HasSubstr("s.json:2:69: $.hosts[0].rdma[1]: is an empty list"));
}

}  // namespace
}  // namespace plumbline::scenario_test
