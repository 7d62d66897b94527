#include "runs/build.h"

#include <string_view>

#include "launch/push.h"

namespace plumbline {
namespace {

// In one piece in the file, whatever the compiler makes of the function below.
[[gnu::used]] constexpr char kMarked[] = PLUMBLINE_BUILD_MARK PLUMBLINE_BUILD ";";

}  // namespace

std::string own_build() {
  constexpr std::string_view kMark = PLUMBLINE_BUILD_MARK;
  const std::string_view all = kMarked;
  return std::string(all.substr(kMark.size(), all.size() - kMark.size() - 1));
}

}  // namespace plumbline
