// The published schema of scenarios, docs/scenario.schema.json, which editors use: it takes every
// scenario that ships, and refuses names that the program's own tables do not have.
// clang-format off: valijson converts integers, so the checked conversions come first
#include "core/json.h"
// clang-format on

#include <gtest/gtest.h>

#include <filesystem>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "cli/vocabulary.h"
#include "scenarios/scenario.h"
#include "tests/support/places.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using nlohmann::json;

const std::string kSource = test::source_dir();

class Published {
 public:
  Published() {
    const json document = json::parse(read_file(kSource + "/docs/scenario.schema.json"));
    valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(document),
                                            schema_);
  }
  bool accepts(const std::string& text) const {
    const json value = json::parse(text, nullptr, true, true);
    return validator_.validate(schema_, valijson::adapters::NlohmannJsonAdapter(value), nullptr);
  }

 private:
  valijson::Schema schema_;
  // One for all: it keeps the patterns that it compiles, which takes most of the time.
  mutable valijson::Validator validator_{valijson::Validator::kStrongTypes};
};

TEST(PublishedSchema, TakesEveryScenarioThatShips) {
  const Published schema;
  size_t seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kSource + "/scenarios")) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != ".json") continue;
    const std::string text = read_file(path);
    if (text.find("\"plumbline\"") == std::string::npos) continue;  // a lab, or a file of hosts
    SCOPED_TRACE(path);
    EXPECT_TRUE(schema.accepts(text));
    ++seen;
  }
  EXPECT_GE(seen, 8U);
}

TEST(PublishedSchema, RefusesNamesThatThereAreNone) {
  const Published schema;
  const auto both = [&](const std::string& rest) {
    const std::string text = R"({"plumbline": 1, )" + rest + "}";
    const bool by_plan = parse_scenario(text, "test.json", make_vocabulary()).has_value();
    EXPECT_EQ(schema.accepts(text), by_plan) << text;
    return by_plan;
  };
  EXPECT_TRUE(both(R"("probes": ["tcp.connect"])"));
  EXPECT_FALSE(both(R"("probes": ["tcp.conect"])"));
  EXPECT_TRUE(both(R"("probes": [{"probe": "command", "run": ["uname", "-r"]}])"));
  EXPECT_FALSE(both(R"("probes": ["command"])"));
  EXPECT_FALSE(both(R"("probes": [{"probe": "command"}])"));
  EXPECT_FALSE(both(R"("probes": [{"probe": "command", "run": " "}])"));
  EXPECT_FALSE(both(R"("probes": [{"probe": "command", "rnu": "uname"}])"));
  EXPECT_TRUE(both(R"("matrix": [{"op": "allreduce", "bytes": 8, "algorithm": "ring"}])"));
  EXPECT_FALSE(both(R"("matrix": [{"op": "allreduce", "bytes": 8, "algorithm": "rign"}])"));
  EXPECT_FALSE(both(R"("matrix": [{"op": "barrier", "algorithm": "ring"}])"));
  const auto ring_of_four = [](const std::string& parameter) {
    return R"("hosts": {"local": 4}, "matrix": [{"op": "allreduce", "bytes": 8, "ranks": 4, )"
           R"("algorithm": "ring:)" +
           parameter + R"("}])";
  };
  EXPECT_TRUE(both(ring_of_four("2")));
  EXPECT_TRUE(both(ring_of_four("0-2-1-3")));
  EXPECT_TRUE(both(ring_of_four("2:0-2-1-3")));
  for (const char* none : {"", "0-", "-0", "0--1", "0 -1", "2:", ":0-1", "2:2:0-1", "0x1", "0-a"}) {
    EXPECT_FALSE(both(ring_of_four(none)));
  }
  EXPECT_FALSE(both(R"("matrix": [{"op": "allreduce", "bytes": 8, "transport": "tpc"}])"));
  EXPECT_TRUE(both(R"("probes": ["ip"], "report": ["junit"])"));
  EXPECT_FALSE(both(R"("probes": ["ip"], "report": ["junti"])"));
  EXPECT_TRUE(both(R"("probes": ["ip"], "expect": [{"busbw_of_roof": ">=0.7"}])"));
  EXPECT_FALSE(both(R"("probes": ["ip"], "expect": [{"busbw_of_rof": ">=0.7"}])"));
}

}  // namespace
}  // namespace plumbline
