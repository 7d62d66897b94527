// The JSON Schema as a second opinion: it accepts what the parser accepts and refuses what is wrong
// in itself. Also: the published files are what the key table generates.
// clang-format off: valijson converts integers, so the checked conversions come first
#include "core/json.h"
// clang-format on

#include <cstdlib>
#include <fstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "scenarios/key_table.h"
#include "tests/scenarios/broken_samples.h"
#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

using nlohmann::json;

class Schema {
 public:
  explicit Schema(const Vocabulary& vocabulary) {
    const json document = json::parse(scenario_schema(vocabulary));
    valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(document),
                                            schema_);
  }
  bool accepts(const std::string& text) const {
    const json value = json::parse(text, nullptr, true, true);
    valijson::Validator validator(valijson::Validator::kStrongTypes);
    try {
      return validator.validate(schema_, valijson::adapters::NlohmannJsonAdapter(value), nullptr);
    } catch (const json::out_of_range&) {  // it asks for an int64_t whatever the number is
      return false;
    }
  }

 private:
  valijson::Schema schema_;
};

TEST(ScenarioSchema, RefusesWhatIsWrongInItself) {
  const Schema schema({});
  for (const BrokenSample& sample : broken_samples()) {
    SCOPED_TRACE(sample.name);
    EXPECT_EQ(schema.accepts(sample.text), !sample.shape);
  }
}

TEST(ScenarioSchema, WithAVocabularyItKnowsTheNames) {
  const Schema schema(vocabulary());
  EXPECT_TRUE(schema.accepts(R"({"plumbline": 1, "probes": ["tcp.connect"]})"));
  EXPECT_FALSE(schema.accepts(R"({"plumbline": 1, "probes": ["tcp.conect"]})"));
  EXPECT_TRUE(schema.accepts(with_matrix(R"({"op": "reduce", "algorithm": "all"})")));
  EXPECT_FALSE(schema.accepts(with_matrix(R"({"op": "reduce", "algorithm": "rings"})")));
}

TEST(ScenarioSchema, ShippedScenariosAreAccepted) {
  const std::string folder = std::string(PLUMBLINE_SOURCE_DIR) + "/scenarios";
  const Schema schema({});
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().string());
    EXPECT_TRUE(schema.accepts(read_file(entry.path().string())));
    ++seen;
  }
  EXPECT_GE(seen, 4);
}

// TEST_UPDATE_GOLDEN=1 writes the generated files anew after a wanted change.
bool updating() { return std::getenv("TEST_UPDATE_GOLDEN") != nullptr; }

TEST(ScenarioSchema, PublishedFileIsCurrent) {
  if (updating()) {
    std::ofstream(PLUMBLINE_SOURCE_DIR "/docs/scenario.schema.json") << scenario_schema({});
  }
  EXPECT_EQ(read_file(PLUMBLINE_SOURCE_DIR "/docs/scenario.schema.json"), scenario_schema({}))
      << "run with TEST_UPDATE_GOLDEN=1";
}

TEST(ScenarioFormatPage, ReferenceIsCurrent) {
  const std::string path = PLUMBLINE_SOURCE_DIR "/docs/scenario_format.md";
  std::string page = read_file(path);
  const std::string begin = "<!-- generated: scenario_reference_markdown() -->\n";
  const std::string end = "<!-- end of generated part -->";
  const size_t from = page.find(begin), to = page.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  if (updating()) {
    page = page.substr(0, from + begin.size()) + scenario_reference_markdown() + page.substr(to);
    std::ofstream(path) << page;
    return;
  }
  EXPECT_EQ(page.substr(from + begin.size(), to - from - begin.size()),
            scenario_reference_markdown())
      << "run with TEST_UPDATE_GOLDEN=1";
}

TEST(ScenarioFormatPage, ExampleIsRight) {
  const std::string page = read_file(PLUMBLINE_SOURCE_DIR "/docs/scenario_format.md");
  const std::string begin = "<!-- example -->\n```json\n";
  const size_t from = page.find(begin);
  ASSERT_NE(from, std::string::npos);
  const size_t start = from + begin.size();
  const std::string example = page.substr(start, page.find("```", start) - start);
  EXPECT_TRUE(Schema({}).accepts(example));
  EXPECT_FALSE(plan_of(parse(example)).cells.empty());
}

TEST(KeyTable, IsSound) {
  std::set<std::string> paths;
  for (const KeyRow& row : key_table()) {
    SCOPED_TRACE(row.path);
    EXPECT_TRUE(paths.insert(row.path).second) << "twice";
    EXPECT_TRUE(row.one != 0 || row.each != 0);
    EXPECT_GT(std::string_view(row.help).size(), 10u);
    EXPECT_LE(row.min, row.max);
    EXPECT_TRUE(!row.required || std::string_view(row.fallback).empty());
    // Whoever holds this key is in the table too.
    const std::string path = row.path;
    const size_t dot = path.rfind('.');
    if (dot == std::string::npos) continue;
    std::string parent = path.substr(0, dot);
    if (parent.size() > 2 && parent.substr(parent.size() - 2) == "[]") {
      parent.resize(parent.size() - 2);
    }
    EXPECT_TRUE(paths.count(parent) == 1) << parent;
  }
  for (const RefusedKeyRow& row : refused_key_table()) EXPECT_EQ(paths.count(row.path), 0u);
}

}  // namespace
}  // namespace plumbline::scenario_test
