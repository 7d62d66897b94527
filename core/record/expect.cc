#include "core/record/expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/number.h"
#include "core/text.h"
#include "core/units.h"

namespace plumbline {
namespace {

// In the order of their enum.
constexpr MetricUnitRow kUnits[] = {
    {MetricUnit::kTime, "time", R"("<=10us")"},
    {MetricUnit::kRate, "rate", R"(">=5GB/s", ">=40Gbit/s")"},
    {MetricUnit::kShare, "share", R"(">=0.7", ">=70%")"},
    {MetricUnit::kCount, "count", R"(0, "<=3")"},
    {MetricUnit::kPerSecond, "per second", R"(">=5000", ">=5000/s")"},
    {MetricUnit::kSize, "size", R"("<=64Mi")"},
    {MetricUnit::kWord, "word", R"("clean", ["clean", "noisy"])"},
};

// A plain decimal number, with `suffix` behind it where it is not empty.
std::optional<double> plain_number(std::string text, const std::string& suffix) {
  if (!suffix.empty()) {
    const bool ends = text.size() > suffix.size() &&
                      text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
    if (!ends) return std::nullopt;
    text.resize(text.size() - suffix.size());
  }
  return parse_decimal(text);
}

// "5GB/s", "40Gbit/s", "40Gbit" as bytes per second; the units are 10^3 apart.
std::optional<double> rate_number(const std::string& text) {
  struct Row {
    const char* suffix;
    double bytes;
  };
  static constexpr Row kRows[] = {
      {"Tbit/s", 1e12 / 8}, {"Gbit/s", 1e9 / 8}, {"Mbit/s", 1e6 / 8}, {"Kbit/s", 1e3 / 8},
      {"Tbit", 1e12 / 8},   {"Gbit", 1e9 / 8},   {"Mbit", 1e6 / 8},   {"Kbit", 1e3 / 8},
      {"TB/s", 1e12},       {"GB/s", 1e9},       {"MB/s", 1e6},       {"kB/s", 1e3},
      {"KB/s", 1e3},        {"B/s", 1},
  };
  for (const Row& row : kRows) {
    if (const auto number = plain_number(text, row.suffix)) return *number * row.bytes;
  }
  return std::nullopt;
}

template <typename T>
std::optional<double> as_number(const Expected<T>& whole) {
  return whole ? std::optional<double>(static_cast<double>(*whole)) : std::nullopt;
}

std::optional<double> number_of(MetricUnit unit, const std::string& text) {
  switch (unit) {
    case MetricUnit::kTime:
      return as_number(parse_duration(text));
    case MetricUnit::kRate:
      return rate_number(text);
    case MetricUnit::kShare: {
      const auto percent = plain_number(text, "%");
      return percent ? std::optional<double>(*percent / 100) : plain_number(text, "");
    }
    case MetricUnit::kCount: {
      const auto number = plain_number(text, "");
      return number && *number == std::floor(*number) ? number : std::nullopt;
    }
    case MetricUnit::kPerSecond: {
      const auto number = plain_number(text, "/s");
      return number ? number : plain_number(text, "");
    }
    case MetricUnit::kSize:
      return as_number(parse_bytes(text));
    case MetricUnit::kWord:
      break;
  }
  return std::nullopt;
}

// Of a metric that nobody knows here: the first unit in which the text means something.
std::optional<MetricUnit> guess_unit(const std::string& text) {
  for (const MetricUnit unit : {MetricUnit::kShare, MetricUnit::kTime, MetricUnit::kRate,
                                MetricUnit::kPerSecond, MetricUnit::kSize}) {
    if (number_of(unit, text)) return unit;
  }
  return std::nullopt;
}

bool is_word_list(const std::string& text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_,") == std::string::npos;
}

Error bad_bound(const std::string& text, const std::string& what, std::optional<MetricUnit> unit) {
  return Error{ErrorCode::kConfig, fmt::format("{} {}", in_quotes(text), what), 0,
               unit ? fmt::format("a {} is written like {}", to_string(*unit),
                                  kUnits[static_cast<size_t>(*unit)].example)
                    : std::string("write a relation and a value, such as \">=0.7\""),
               ""};
}

Expected<RuleBound> word_bound(RuleBound bound, const std::string& rest) {
  const bool equality = bound.relation == Relation::kEqual || bound.relation == Relation::kNotEqual;
  if (!equality || !is_word_list(rest)) {
    return fail(bad_bound(bound.text, "is no word", MetricUnit::kWord));
  }
  bound.words = split_at(rest, ',');
  std::erase(bound.words, "");
  if (bound.words.empty()) return fail(bad_bound(bound.text, "is no word", MetricUnit::kWord));
  return bound;
}

}  // namespace

std::span<const MetricUnitRow> metric_unit_table() { return kUnits; }

const char* to_string(MetricUnit unit) { return kUnits[static_cast<size_t>(unit)].name; }

std::optional<MetricUnit> metric_unit_from(const std::string& name) {
  for (const MetricUnitRow& row : kUnits) {
    if (name == row.name) return row.unit;
  }
  return std::nullopt;
}

std::string metric_text(MetricUnit unit, double value) {
  switch (unit) {
    case MetricUnit::kTime:
      return format_duration(value);
    case MetricUnit::kRate:
      return format_rate(value);
    case MetricUnit::kShare:
      return fmt::format("{:.3g} %", value * 100);
    case MetricUnit::kCount:
      return fmt::format("{:.0f}", value);
    case MetricUnit::kPerSecond:
      return fmt::format("{:.3g}/s", value);
    case MetricUnit::kSize:
      return format_bytes(value > 0 && value < 9e18 ? static_cast<uint64_t>(value) : 0);
    case MetricUnit::kWord:
      break;
  }
  return fmt::format("{}", value);
}

bool RuleBound::holds(double number) const { return stands_so(number, relation, value, upper); }

bool RuleBound::holds(const std::string& word) const {
  const bool named = std::find(words.begin(), words.end(), word) != words.end();
  return named == (relation != Relation::kNotEqual);
}

Expected<RuleBound> parse_bound(const std::string& metric, std::optional<MetricUnit> unit,
                                const std::string& text) {
  RuleBound bound;
  bound.metric = metric;
  bound.text = text;
  std::string rest = text;
  const std::optional<Relation> relation = take_relation(rest);
  const bool related = relation.has_value();
  if (related) rest.erase(0, rest.find_first_not_of(' '));
  bound.relation = relation.value_or(bound.relation);
  if (unit == MetricUnit::kWord || (!unit && is_word_list(rest))) return word_bound(bound, rest);
  const size_t dots = rest.find("..");
  const std::string first = rest.substr(0, dots);
  if (!unit && !related && number_of(MetricUnit::kCount, first)) unit = MetricUnit::kCount;
  if (!unit) unit = guess_unit(first);
  const std::optional<double> value = unit ? number_of(*unit, first) : std::nullopt;
  if (!value) {
    return fail(bad_bound(
        text,
        fmt::format("is no {}", unit ? std::string("bound of a ") + to_string(*unit) : "bound"),
        unit));
  }
  bound.value = *value;
  if (dots != std::string::npos) {
    const std::optional<double> upper = number_of(*unit, rest.substr(dots + 2));
    if (!upper || related || *upper < *value) {
      return fail(bad_bound(text, "is no range", unit));
    }
    bound.upper = *upper;
    bound.relation = Relation::kWithin;
    return bound;
  }
  // No measured time is exactly 10 us: without a relation something else was meant.
  if (!related && unit != MetricUnit::kCount) {
    return fail(bad_bound(text, "has no relation", unit));
  }
  return bound;
}

bool Rule::needs_baseline() const {
  const std::string ending = kOfBaseline;
  return std::any_of(bounds.begin(), bounds.end(), [&](const RuleBound& bound) {
    return bound.metric.size() > ending.size() &&
           bound.metric.compare(bound.metric.size() - ending.size(), ending.size(), ending) == 0;
  });
}

bool covers(const Rule& rule, const Cell& cell) {
  bool named = row(cell.kind).asked_for;
  for (const FilterTerm& term : rule.where) {
    if (!term.holds(cell)) return false;
    const std::string own = term.field() == "kind" ? to_string(cell.kind) : cell.op;
    named |= (term.field() == "kind" || term.field() == "op") &&
             std::find(term.words().begin(), term.words().end(), own) != term.words().end();
  }
  return named;
}

std::string rule_text(const Rule& rule) {
  std::vector<std::string> terms, bounds;
  for (const FilterTerm& term : rule.where) terms.push_back(term.text());
  for (const RuleBound& bound : rule.bounds) {
    const bool related =
        !bound.text.empty() && std::string("<>=!").find(bound.text[0]) != std::string::npos;
    bounds.push_back(fmt::format("{} {}{}", bound.metric, related ? "" : "is ", bound.text));
  }
  const std::string where =
      terms.empty() ? "everything" : fmt::format("{}", fmt::join(terms, ", "));
  const std::string words = fmt::format("{}: {}", where, fmt::join(bounds, ", "));
  return rule.name.empty() ? words : fmt::format("{} ({})", rule.name, words);
}

}  // namespace plumbline
