#include "runs/build.h"

#include <string_view>

#include "launch/push.h"

namespace plumbline {
namespace {

// In one piece in the file, whatever the compiler makes of the function below: it is read through a
// pointer that may have been changed, because Apple's linkers drop what nothing points to.
constexpr char kMarked[] = PLUMBLINE_BUILD_MARK PLUMBLINE_BUILD ";";
const char* const volatile kMarkedAt = kMarked;

}  // namespace

std::string own_build() {
  constexpr std::string_view kMark = PLUMBLINE_BUILD_MARK;
  const std::string_view all(kMarkedAt, sizeof kMarked - 1);
  return std::string(all.substr(kMark.size(), all.size() - kMark.size() - 1));
}

}  // namespace plumbline
