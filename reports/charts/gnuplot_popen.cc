#include <cerrno>
#include <cstdio>

#include "reports/charts/draw.h"

namespace plumbline {

Status pipe_to(const std::string& command, const std::string& input) {
  std::FILE* pipe = popen(command.c_str(), "w");
  if (!pipe) return fail_errno(ErrorCode::kSystem, "start gnuplot", errno);
  std::fputs(input.c_str(), pipe);
  pclose(pipe);
  return {};
}

}  // namespace plumbline
