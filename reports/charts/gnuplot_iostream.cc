#include <gnuplot-iostream.h>

#include <exception>

#include "reports/charts/draw.h"

namespace plumbline {

Status pipe_to(const std::string& command, const std::string& input) {
  try {
    Gnuplot gnuplot(command);
    gnuplot << input;
  } catch (const std::exception&) {
    return fail(ErrorCode::kSystem, "start " + command, "is gnuplot installed?");
  }
  return {};
}

}  // namespace plumbline
