#include "reports/publish/wide.h"

#include <algorithm>

namespace plumbline {
namespace {

std::string whole_text(Wide value) {
  std::string out;
  do {
    out += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

std::string decimal_text(Wide numerator, Wide denominator, int digits) {
  std::string out = whole_text(numerator / denominator) + ".";
  Wide rest = numerator % denominator;
  for (int i = 0; i < digits; ++i) {
    rest *= 10;
    out += static_cast<char>('0' + static_cast<int>(rest / denominator));
    rest %= denominator;
  }
  return out;
}

}  // namespace plumbline
