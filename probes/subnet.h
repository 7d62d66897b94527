// Arithmetic on addresses in text form. Pure functions, thread-safe.
#pragma once

#include <string>

namespace plumbline {

// Do both addresses lie in one subnet of this prefix length? False for different families, for
// text that is no address, and for a prefix that the family does not have.
bool same_subnet(const std::string& a, const std::string& b, int prefix);

}  // namespace plumbline
