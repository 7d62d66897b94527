// The docs say what the tables say. After a wanted change run the tests with
// TEST_UPDATE_GOLDEN=1 and read the difference.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "cli/reference.h"
#include "cli/vocabulary.h"
#include "core/record_fields.h"
#include "tests/support/golden.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

std::string document(const std::string& name) {
  return std::string(PLUMBLINE_SOURCE_DIR) + "/docs/" + name;
}

TEST(Docs, ReferenceIsWhatTheTablesGive) {
  EXPECT_TRUE(equals_golden(reference_markdown(), "../../docs/reference.md"));
}

TEST(Docs, RecordSchemaIsWhatTheTableGives) {
  EXPECT_TRUE(equals_golden(record_schema_json(), "../../docs/record.schema.json"));
}

TEST(Docs, RecordFormatHoldsEveryField) {
  const std::string begin = "<!-- fields -->\n";
  const std::string end = "<!-- end -->";
  std::string text = read_file(document("record_format.md"));
  const size_t from = text.find(begin) + begin.size();
  const size_t to = text.find(end);
  ASSERT_LE(from, to);
  if (std::getenv("TEST_UPDATE_GOLDEN") != nullptr) {
    text.replace(from, to - from, record_reference_markdown());
    std::ofstream(document("record_format.md")) << text;
    return;
  }
  EXPECT_EQ(text.substr(from, to - from), record_reference_markdown());
}

TEST(Docs, ListShowsEveryRowOfEveryTable) {
  const Finished list = run_program(plumbline_argv({"list"}));
  const Finished json = run_program(plumbline_argv({"list", "--json"}));
  for (const NamedTable& table : all_tables()) {
    EXPECT_FALSE(table.rows.empty()) << table.name;
    for (const Descriptor& row : table.rows) {
      EXPECT_NE(list.out.find(row.name), std::string::npos) << row.name;
      EXPECT_NE(json.out.find("\"" + row.name + "\""), std::string::npos) << row.name;
    }
  }
}

}  // namespace
}  // namespace plumbline
