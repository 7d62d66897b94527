#include "collectives/algorithm_name.h"

#include <fmt/format.h>

#include "core/number.h"
#include "core/op.h"
#include "core/text.h"

namespace plumbline {
namespace {

// More than any world has; what is written here may be anybody's.
constexpr int kMostRadix = 1 << 16;
constexpr size_t kMostRadices = 16;  // 2x2x...: 65536 ranks

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
    case ParameterForm::kNumber: {
      const auto number = parse_whole<int>(name.parameter);
      if (number && *number >= row.least && *number <= row.most) {
        return AlgorithmParameter{{}, *number};
      }
      return bad_parameter(name, fmt::format("is no number from {} to {}", row.least, row.most),
                           fmt::format("use {}:{}", name.base, row.most));
    }
  }
  return bad_parameter(name, "is too much: it takes no parameter",
                       fmt::format("use {}", name.base));
}

std::string radices_text(const std::vector<int>& radices) {
  return fmt::format("{}", fmt::join(radices, "x"));
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
