#include "core/host/process_facts.h"

namespace plumbline {

bool is_run_id(std::string_view text) {
  constexpr size_t kLongest = 64;
  return !text.empty() && text.size() <= kLongest &&
         std::string_view("-_.").find(text[0]) == std::string_view::npos &&
         text.find_first_not_of("0123456789abcdefABCDEF-_.") == std::string_view::npos;
}

}  // namespace plumbline
