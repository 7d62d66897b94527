#include "core/record/ran_as_asked.h"

namespace plumbline {

Status ran_as_asked(const Cell& cell, const Measurement& measurement, const std::string& option) {
  const bool ran =
      measurement.outcome == Outcome::kPassed || measurement.outcome == Outcome::kFailed;
  const std::string& over = measurement.resolved.transport;
  const std::string& asked = cell.transport == "auto" ? option : cell.transport;
  if (!ran || asked == "auto" || asked == over) return {};
  return fail(Error{ErrorCode::kMismatch,
                    "transport " + asked + " was asked for, but the ranks used " +
                        (over.empty() ? "one that they do not name" : over),
                    0, "use the same build of plumbline on every host", "config.mismatch"});
}

}  // namespace plumbline
