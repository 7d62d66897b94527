#include "collectives/algorithm_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/number.h"
#include "core/op.h"
#include "core/text.h"

namespace plumbline {
namespace {

// More than any world has; what is written here may be anybody's.
constexpr int kMostRadix = 1 << 16;
constexpr size_t kMostRadices = 16;  // 2x2x...: 65536 ranks
// As long a name as records have room for (core/field.h).
constexpr size_t kMostOrdered = 64;

tl::unexpected<Error> bad_parameter(const SplitName& name, const std::string& what,
                                    const std::string& hint) {
  return fail(ErrorCode::kConfig,
              fmt::format("algorithm {}: {} {}", in_quotes(name.base + ":" + name.parameter),
                          in_quotes(name.parameter), what),
              hint);
}

Expected<AlgorithmParameter> read_radices(const SplitName& name) {
  const std::string hint =
      fmt::format("write numbers of at least 2 with an x between them, such as {}:4x2", name.base);
  AlgorithmParameter parameter;
  for (const std::string& text : split_at(name.parameter, 'x')) {
    const auto radix = parse_whole<int>(text);
    if (!radix || *radix < 2 || *radix > kMostRadix) {
      return bad_parameter(name, "is no list of radices", hint);
    }
    parameter.radices.push_back(*radix);
    if (parameter.radices.size() > kMostRadices) {
      return bad_parameter(name, fmt::format("has more than {} radices", kMostRadices), hint);
    }
  }
  return parameter;
}

tl::unexpected<Error> no_order(const SplitName& name, const std::string& what) {
  return bad_parameter(name, what,
                       fmt::format("write every rank once, such as {}:0-2-1-3", name.base));
}

Expected<std::vector<int>> read_order(const SplitName& name, std::string_view text) {
  std::vector<int> order;
  for (const std::string& part : split_at(text, kOrderMark)) {
    const auto rank = parse_whole<int>(part);
    if (!rank || *rank < 0) return no_order(name, "is no order of ranks");
    order.push_back(*rank);
    if (order.size() > kMostOrdered) {
      return no_order(name, fmt::format("has more than {} ranks", kMostOrdered));
    }
  }
  if (order.size() < 2) return no_order(name, "is no order of ranks");
  if (!is_order_of(order, order.size())) {
    return no_order(name, fmt::format("has not every rank from 0 to {} once", order.size() - 1));
  }
  std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
  return order;
}

Expected<AlgorithmParameter> read_number(const ParameterRow& row, const SplitName& name) {
  const std::string_view all = name.parameter;
  const size_t mark = row.takes_order ? all.find(kParameterMark) : std::string_view::npos;
  const bool both = mark != std::string_view::npos;
  AlgorithmParameter parameter;
  if (both || (row.takes_order && all.find(kOrderMark) != std::string_view::npos)) {
    Expected<std::vector<int>> order = read_order(name, both ? all.substr(mark + 1) : all);
    if (!order) return fail(order.error());
    parameter.order = std::move(*order);
    if (!both) return parameter;
  }
  const std::string_view digits = all.substr(0, mark);
  const auto number = parse_whole<int>(digits);
  if (!number || *number < row.least || *number > row.most) {
    const std::string order = both ? kParameterMark + order_text(parameter.order) : "";
    return bad_parameter({name.base, std::string(digits), true},
                         fmt::format("is no number from {} to {}", row.least, row.most),
                         fmt::format("use {}:{}{}", name.base, row.most, order));
  }
  parameter.number = *number;
  return parameter;
}

}  // namespace

SplitName split_algorithm(std::string_view name) {
  const size_t colon = name.find(kParameterMark);
  if (colon == std::string_view::npos) return {std::string(name), "", false};
  return {std::string(name.substr(0, colon)), std::string(name.substr(colon + 1)), true};
}

Expected<AlgorithmParameter> read_parameter(const ParameterRow& row, const SplitName& name) {
  if (!name.has_parameter) return AlgorithmParameter{};
  switch (row.form) {
    case ParameterForm::kNone:
      break;
    case ParameterForm::kRadices:
      return read_radices(name);
    case ParameterForm::kNumber:
      return read_number(row, name);
  }
  return bad_parameter(name, "is too much: it takes no parameter",
                       fmt::format("use {}", name.base));
}

std::string radices_text(const std::vector<int>& radices) {
  return fmt::format("{}", fmt::join(radices, "x"));
}

std::string order_text(const std::vector<int>& order) {
  return fmt::format("{}", fmt::join(order, std::string(1, kOrderMark)));
}

bool is_order_of(const std::vector<int>& order, size_t size) {
  std::vector<char> seen(size, 0);
  for (const int rank : order) {
    if (rank < 0 || static_cast<size_t>(rank) >= size || seen[static_cast<size_t>(rank)] != 0) {
      return false;
    }
    seen[static_cast<size_t>(rank)] = 1;
  }
  return order.size() == size;
}

std::vector<int> prime_factors(int n) {
  std::vector<int> factors;
  for (int divisor = 2; divisor * divisor <= n; ++divisor) {
    for (; n % divisor == 0; n /= divisor) factors.push_back(divisor);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

std::string fitting_radices(int size) {
  const std::vector<int> primes = prime_factors(size);
  if (primes.size() < 2) return fmt::format("{}", size);
  std::string text = radices_text(primes);
  if (primes.size() > 2) text += fmt::format(", {}x{}", size / primes.back(), primes.back());
  return text + fmt::format(" or {}", size);
}

}  // namespace plumbline
