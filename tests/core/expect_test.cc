// Terms that pick cells, bounds of rules, and which cells a rule is about.
#include "core/record/expect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace plumbline {
namespace {

using testing::HasSubstr;

Cell cell(const std::string& op, uint64_t bytes, int ranks = 4) {
  Cell out;
  out.kind = CellKind::kLatency;
  out.op = op;
  out.bytes = bytes;
  out.ranks = ranks;
  out.params["chunk_bytes"] = "65536";
  return out;
}

bool holds(const std::string& term, const Cell& cell) {
  const auto parsed = FilterTerm::parse_unseen(term);
  EXPECT_TRUE(parsed) << term << ": " << (parsed ? "" : parsed.error().message());
  return parsed && parsed->holds(cell);
}

std::string complaint(const std::string& term) {
  const auto parsed = FilterTerm::parse_unseen(term);
  return parsed ? "" : parsed.error().message();
}

TEST(CellFilter, SizesAndRangesOfThem) {
  const Cell small = cell("allreduce", 64 << 10), large = cell("allreduce", 16 << 20);
  EXPECT_TRUE(holds("bytes>=16Mi", large));
  EXPECT_FALSE(holds("bytes>=16Mi", small));
  EXPECT_TRUE(holds("bytes=64Ki..1Mi", small));
  EXPECT_TRUE(holds("bytes=8..64Ki", small)) << "both ends belong to it";
  EXPECT_FALSE(holds("bytes=64Ki..1Mi", large));
  EXPECT_TRUE(holds("bytes=8,1Mi..16Mi", large));
  EXPECT_FALSE(holds("bytes!=8,1Mi..16Mi", large));
  EXPECT_TRUE(holds("ranks=2..4", large));
  EXPECT_FALSE(holds("ranks<4", large));
}

TEST(CellFilter, OptionsOfABlock) {
  EXPECT_TRUE(holds("config.chunk_bytes=65536", cell("allreduce", 8)));
  EXPECT_FALSE(holds("config.chunk_bytes=1024", cell("allreduce", 8)));
  EXPECT_FALSE(holds("config.mesh=lazy", cell("allreduce", 8))) << "not set for it";
}

TEST(CellFilter, SaysWhatIsWrong) {
  EXPECT_THAT(complaint("bites>=8"), HasSubstr("did you mean 'bytes'?"));
  EXPECT_THAT(complaint("bytes>=16Q"), HasSubstr("unknown unit"));
  EXPECT_THAT(complaint("bytes>=8..16"), HasSubstr("several values"));
  EXPECT_THAT(complaint("bytes=16..8"), HasSubstr("ends before it begins"));
  EXPECT_THAT(complaint("bytes=..8"), HasSubstr("not a size"));
  EXPECT_THAT(complaint("ranks=four"), HasSubstr("not a whole number"));
  EXPECT_THAT(complaint("op>=ring"), HasSubstr("not a number"));
  EXPECT_THAT(complaint("op="), HasSubstr("empty"));
  EXPECT_THAT(complaint("ring"), HasSubstr("no field"));
  EXPECT_THAT(complaint("op!allreduce"), HasSubstr("no relation"));
}

TEST(CellFilter, EveryFieldIsInTheTable) {
  for (const std::string& name : filter_field_names()) {
    const std::string value = filter_field_is_number(name) ? "=0" : "=x";
    EXPECT_EQ(complaint(name + value), "") << name;
  }
}

struct Written {
  const char* text;
  MetricUnit unit;
  double yes, no;  // values for which it holds and does not
};

TEST(RuleBound, IsReadInItsUnit) {
  const Written kWritten[] = {
      {"<=10us", MetricUnit::kTime, 10'000, 10'001},
      {"< 1.5ms", MetricUnit::kTime, 1'499'999, 1'500'000},
      {">=5GB/s", MetricUnit::kRate, 5e9, 4.9e9},
      {">=100Gbit/s", MetricUnit::kRate, 12.5e9, 12.4e9},
      {">40Gbit", MetricUnit::kRate, 5.1e9, 5e9},
      {">=0.7", MetricUnit::kShare, 0.7, 0.69},
      {">=70%", MetricUnit::kShare, 0.7, 0.69},
      {"0.95..1.05", MetricUnit::kShare, 1.05, 1.06},
      {"0", MetricUnit::kCount, 0, 1},
      {"==0", MetricUnit::kCount, 0, 1},
      {"!=0", MetricUnit::kCount, 1, 0},
      {"<=3", MetricUnit::kCount, 3, 4},
      {">=5000/s", MetricUnit::kPerSecond, 5000, 4999},
      {">=5e3", MetricUnit::kPerSecond, 5000, 4999},
      {"<=64Mi", MetricUnit::kSize, 64 << 20, (64 << 20) + 1},
  };
  for (const Written& each : kWritten) {
    SCOPED_TRACE(each.text);
    const auto bound = parse_bound("x", each.unit, each.text);
    ASSERT_TRUE(bound) << bound.error().message();
    EXPECT_TRUE(bound->holds(each.yes));
    EXPECT_FALSE(bound->holds(each.no));
    EXPECT_FALSE(bound->holds(std::numeric_limits<double>::quiet_NaN()) &&
                 bound->relation != Relation::kNotEqual);
  }
}

TEST(RuleBound, Words) {
  const auto either = parse_bound("noise", MetricUnit::kWord, "clean,noisy");
  ASSERT_TRUE(either);
  EXPECT_TRUE(either->holds("noisy"));
  EXPECT_FALSE(either->holds("invalid"));
  const auto not_noisy = parse_bound("noise", MetricUnit::kWord, "!=noisy");
  ASSERT_TRUE(not_noisy);
  EXPECT_TRUE(not_noisy->holds("clean"));
  EXPECT_FALSE(not_noisy->holds("noisy"));
}

TEST(RuleBound, SizesTakeBareLettersAndRatesDoNot) {
  const auto with = parse_bound("x", MetricUnit::kSize, "<=64Mi");
  const auto without = parse_bound("x", MetricUnit::kSize, "<=64M");
  ASSERT_TRUE(with && without);
  EXPECT_EQ(with->value, without->value);
  EXPECT_FALSE(parse_bound("x", MetricUnit::kRate, ">=5M"));
}

TEST(RuleBound, RefusesWhatIsNone) {
  const std::pair<const char*, MetricUnit> kBad[] = {
      {"10us", MetricUnit::kTime},      // no relation: nothing is exactly that long
      {"<=10", MetricUnit::kTime},      // no unit
      {"<=10GB/s", MetricUnit::kTime},  // another unit
      {">=5", MetricUnit::kRate},      {">=5GB", MetricUnit::kRate},
      {"0.7", MetricUnit::kShare},     {">=0.7x", MetricUnit::kShare},
      {">=", MetricUnit::kShare},      {"", MetricUnit::kShare},
      {"nan", MetricUnit::kShare},     {">=inf", MetricUnit::kShare},
      {">=1e999", MetricUnit::kShare}, {">=0x10", MetricUnit::kShare},
      {"1.5", MetricUnit::kCount},     {">=1..2", MetricUnit::kCount},
      {"2..1", MetricUnit::kCount},    {"..", MetricUnit::kCount},
      {"<=64Q", MetricUnit::kSize},    {">=clean", MetricUnit::kWord},
      {"", MetricUnit::kWord},         {"clean\x1b[31m", MetricUnit::kWord},
  };
  for (const auto& [text, unit] : kBad) {
    const auto bound = parse_bound("x", unit, text);
    EXPECT_FALSE(bound) << text << " as " << to_string(unit);
    if (bound) continue;
    EXPECT_THAT(bound.error().message(), HasSubstr("is written like"));
  }
}

TEST(RuleBound, OfAnUnknownMetricTheTextDecides) {
  EXPECT_TRUE(parse_bound("x", std::nullopt, "<=10us"));
  EXPECT_TRUE(parse_bound("x", std::nullopt, ">=5GB/s"));
  EXPECT_TRUE(parse_bound("x", std::nullopt, "clean"));
  EXPECT_TRUE(parse_bound("x", std::nullopt, "0"));
  EXPECT_FALSE(parse_bound("x", std::nullopt, ">=?"));
}

Rule rule_on(const std::vector<std::string>& terms) {
  Rule rule;
  for (const std::string& term : terms) rule.where.push_back(*FilterTerm::parse_unseen(term));
  rule.bounds.push_back(*parse_bound("wrong", MetricUnit::kCount, "0"));
  return rule;
}

TEST(Rule, IsAboutRoofsOnlyWhenItNamesThem) {
  Cell roof = cell("raw_stream", 4 << 20, 2);
  roof.kind = CellKind::kRoof;
  EXPECT_FALSE(covers(rule_on({}), roof));
  EXPECT_FALSE(covers(rule_on({"bytes>=1Mi"}), roof));
  EXPECT_FALSE(covers(rule_on({"op!=barrier"}), roof)) << "naming another is not naming it";
  EXPECT_TRUE(covers(rule_on({"kind=roof"}), roof));
  EXPECT_TRUE(covers(rule_on({"op=raw_stream"}), roof));
  EXPECT_TRUE(covers(rule_on({}), cell("allreduce", 8)));
}

TEST(Rule, InWords) {
  Rule rule = rule_on({"op=allreduce", "bytes>=16Mi"});
  EXPECT_EQ(rule_text(rule), "op=allreduce, bytes>=16Mi: wrong is 0");
  rule.name = "sums";
  EXPECT_EQ(rule_text(rule), "sums (op=allreduce, bytes>=16Mi: wrong is 0)");
  EXPECT_EQ(rule_text(rule_on({})), "everything: wrong is 0");
}

}  // namespace
}  // namespace plumbline
