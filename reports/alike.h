// One fault that many hosts have is read once: findings that say the same but for the host, put
// together for people. Plain values; a pure function.
#pragma once

#include <vector>

#include "core/diagnosis/finding.h"

namespace plumbline {

// Findings of one cause, peer and ports with the same texts are one, whose host is "a, b, c" and
// whose evidence names the check of the first host. In the order of the first of each. To be shown:
// whoever counts, judges or mends takes the findings themselves.
std::vector<Finding> alike_as_one(const std::vector<Finding>& findings);

}  // namespace plumbline
