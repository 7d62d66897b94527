// Algorithms by the names that people give them: NAME, or NAME:PARAMETER where an algorithm can be
// had in several shapes, such as `exchange:4x2`. The text is read here once, where it enters; from
// then on the parameter is a value of its type in the request. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace plumbline {

enum class ParameterForm : uint8_t {
  kNone,
  kRadices,  // "4x2": sizes of groups, nearest ranks first; their product is the number of ranks
  kNumber,   // "2"
};
// Between two ranks of an order: "0-2-1-3".
inline constexpr char kOrderMark = '-';

// What an algorithm takes behind the colon.
struct ParameterRow {
  ParameterForm form = ParameterForm::kNone;
  const char* name = "";    // "RADICES"
  const char* help = "";    // one line
  int least = 0, most = 0;  // of a number
  int usual = 0;            // the number when none is given
  // Of a number: behind it, or in its place, may stand the order of a ring of all ranks.
  bool takes_order = false;
};

// That, read. The empty one asks for what is usual.
struct AlgorithmParameter {
  std::vector<int> radices = {};
  int number = 0;
  // Ranks 0 .. n-1, each once; begins with 0, because a ring has no first rank. Empty = the usual.
  std::vector<int> order = {};
};

// "exchange:4x2" in two; without a colon `has_parameter` is false.
struct SplitName {
  std::string base, parameter;
  bool has_parameter = false;
};
SplitName split_algorithm(std::string_view name);

// kConfig for text that this row does not take: no parameter at all, not of its form, out of range.
// That radices or an order suit the number of ranks is for AlgorithmRow::unsupported to say.
Expected<AlgorithmParameter> read_parameter(const ParameterRow& row, const SplitName& name);

// "4x2"
std::string radices_text(const std::vector<int>& radices);
// "0-2-1-3"
std::string order_text(const std::vector<int>& order);
// Whether each rank of 0 .. size-1 stands in it once, and nothing else.
bool is_order_of(const std::vector<int>& order, size_t size);
// The prime factors of n, smallest first: the most rounds, the fewest messages a round. None for 1.
std::vector<int> prime_factors(int n);
// Radices for so many ranks, as a person would be told: "2x2x2, 4x2 or 8".
std::string fitting_radices(int size);

}  // namespace plumbline
