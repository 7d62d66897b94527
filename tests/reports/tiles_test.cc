// The numbers in the page's headline: of the best clean result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/units.h"
#include "reports/report.h"
#include "tests/reports/link_samples.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string tiles_of(std::vector<Record> records) {
  ReportInput input;
  input.records = std::move(records);
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  const auto written = find_report("html")->write(input, target);
  EXPECT_TRUE(written) << written.error().message();
  const std::string page = out.str();
  const size_t begin = page.find("<dl class=\"tiles\">"), end = page.find("</dl>", begin);
  EXPECT_NE(begin, std::string::npos);
  return page.substr(begin, end - begin);
}

Record latency(uint64_t bytes, double p50_ns, const std::string& noise) {
  Record record = samples::record("latency", "allreduce", "ring", 2, bytes, p50_ns);
  record.noise.verdict = noise;
  return record;
}

Record bandwidth(uint64_t bytes, double p50_ns, const std::string& noise) {
  Record record = samples::record("bandwidth", "allreduce", "ring", 2, bytes, p50_ns);
  record.noise.verdict = noise;
  return record;
}

Record throughput(int outstanding, double rate, const std::string& noise) {
  Record record = samples::throughput("allreduce", "ring", 2, 64, outstanding, rate);
  record.noise.verdict = noise;
  return record;
}

// A noisy cell that looked faster than it can be was the headline.
TEST(Tiles, TheBestCleanResultWhateverNoisyOnesSay) {
  for (const bool noisy_first : {true, false}) {
    std::vector<Record> records = {
        latency(64, 10'000, noisy_first ? "noisy" : "clean"),
        latency(128, noisy_first ? 30'000 : 5'000, noisy_first ? "clean" : "noisy"),
        bandwidth(1 << 20, 1e6, noisy_first ? "noisy" : "clean"),
        bandwidth(2 << 20, noisy_first ? 4e6 : 1e6, noisy_first ? "clean" : "noisy"),
        throughput(1, 9000, noisy_first ? "noisy" : "clean"),
        throughput(4, noisy_first ? 4000 : 99000, noisy_first ? "clean" : "noisy")};
    const std::string tiles = tiles_of(std::move(records));
    EXPECT_THAT(tiles, HasSubstr(noisy_first ? "2 ranks, 128 B" : "2 ranks, 64 B"));
    EXPECT_THAT(tiles, HasSubstr(noisy_first ? "2 ranks, 2 MiB" : "2 ranks, 1 MiB"));
    EXPECT_THAT(tiles, HasSubstr(noisy_first ? "4000/s" : "9000/s"));
    EXPECT_THAT(tiles, Not(HasSubstr("noisy")));
  }
}

TEST(Tiles, ANoisyOneSaysSoWhereThereIsNoOther) {
  const std::string tiles =
      tiles_of({latency(64, 10'000, "noisy"), latency(128, 8'000, "noisy"),
                bandwidth(1 << 20, 1e6, "noisy"), throughput(1, 9000, "noisy")});
  EXPECT_THAT(tiles, HasSubstr("2 ranks, 128 B; noisy, as there is no clean result"));
  EXPECT_THAT(tiles, HasSubstr("2 ranks, 1 MiB; noisy, as there is no clean result"));
  EXPECT_THAT(tiles, HasSubstr("2 ranks, 64 B; noisy, as there is no clean result"));
}

TEST(Tiles, ACleanImportedResultComesBeforeANoisyOneOfOurs) {
  Record theirs = latency(64, 50'000, "");
  theirs.measurement.reported = Reported{};
  theirs.measurement.reported->tool = "osu";
  const std::string tiles = tiles_of({latency(128, 8'000, "noisy"), theirs});
  EXPECT_THAT(tiles, HasSubstr("2 ranks, 64 B"));
  EXPECT_THAT(tiles, Not(HasSubstr("noisy")));
}

TEST(Tiles, LinksThatWereMeasuredInNoiseSaySo) {
  Record links = samples::link_record("stream", 3);
  EXPECT_THAT(tiles_of({links}), Not(HasSubstr("noisy")));
  links.noise.verdict = "noisy";
  EXPECT_THAT(tiles_of({links}), HasSubstr("; noisy"));
}

}  // namespace
}  // namespace plumbline
