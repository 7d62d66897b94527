#include "core/lower_case.h"

namespace plumbline {

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower_case(c);
  return out;
}

}  // namespace plumbline
