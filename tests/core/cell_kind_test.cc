
#include <gmock/gmock.h>

#include <set>

#include "core/json.h"
#include "core/record/cell.h"
#include "core/record/record.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

Cell cell_of(CellKind kind) {
  Cell cell;
  cell.kind = kind;
  cell.op = "allreduce";
  cell.ranks = 2;
  cell.bytes = 4096;
  cell.count = 1024;
  return cell;
}

TEST(CellKind, TheTableIsSound) {
  std::set<std::string> names;
  size_t at = 0;
  for (const CellKindRow& kind : cell_kind_table()) {
    SCOPED_TRACE(kind.name);
    EXPECT_EQ(static_cast<size_t>(kind.kind), at++) << "row() counts";
    EXPECT_TRUE(names.insert(kind.name).second) << "twice";
    EXPECT_EQ(cell_kind_from(kind.name), kind.kind);
    EXPECT_EQ(to_string(kind.kind), std::string(kind.name));
    EXPECT_FALSE(std::string(kind.help).empty());
    for (const char* key : kind.keys) {
      EXPECT_TRUE(kind.has(key));
      EXPECT_THAT(kinds_with(key), testing::Contains(kind.name));
      EXPECT_THAT(keys_of_kinds(), testing::Contains(key));
    }
  }
  EXPECT_EQ(cell_kind_from("probe"), std::nullopt);
  EXPECT_EQ(cell_kind_from(""), std::nullopt);
  EXPECT_THAT(asked_kinds(), testing::Not(testing::Contains("roof")));
}

TEST(CellKind, EveryKindIsWrittenByItsNameAndReadAgain) {
  for (const CellKindRow& kind : cell_kind_table()) {
    const nlohmann::json written = cell_of(kind.kind);
    EXPECT_EQ(written["kind"], kind.name);
    EXPECT_EQ(written.get<Cell>(), cell_of(kind.kind));
  }
}

// As they were when kinds were words: files of before are resumed and compared by them.
TEST(CellKind, IdsOfCellsStayTheSame) {
  EXPECT_EQ(cell_id(cell_of(CellKind::kLatency)), "00bb1917d9b57c85");
  Cell bandwidth = cell_of(CellKind::kBandwidth);
  bandwidth.hosts = "a+b";
  bandwidth.params["chunk_bytes"] = "64Ki";
  EXPECT_EQ(cell_id(bandwidth), "954fd02f10682e25");
  Cell throughput = cell_of(CellKind::kThroughput);
  throughput.outstanding = 4;
  EXPECT_EQ(cell_id(throughput), "476a597a50b1558a");
  Cell check = cell_of(CellKind::kCheck);
  check.distribution = "cyclic";
  EXPECT_EQ(cell_id(check), "0f141821b97a8380");
  Cell link = cell_of(CellKind::kLink);
  link.op = "link";
  link.dtype = "u8";
  link.redop = "none";
  link.measure = "udp";
  link.rate_bps = 50'000'000;
  link.bytes = link.count = 1200;
  EXPECT_EQ(cell_id(link), "21c185c691cdf61a");
  Cell roof = cell_of(CellKind::kRoof);
  roof.op = "raw_stream";
  roof.dtype = "u8";
  roof.redop = "none";
  EXPECT_EQ(cell_id(roof), "3b38d3c236ef153a");
}

TEST(CellKind, ARecordOfAKindThatThisVersionHasNotIsNamed) {
  Record record;
  record.cell = cell_of(CellKind::kCheck);
  std::string line = to_line(record);
  const size_t at = line.find("\"check\"");
  ASSERT_NE(at, std::string::npos);
  line.replace(at, 7, "\"probe\"");
  const auto read = record_from_line(line);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().what, testing::HasSubstr("no cells of kind 'probe'"));
}

}  // namespace
}  // namespace plumbline
