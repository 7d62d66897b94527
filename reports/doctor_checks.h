// The checks in the text of `doctor`: all of them, or a line per probe with its counts, below it
// each check that is not fine, and what was skipped in a sentence.
#pragma once

#include "reports/doctor.h"
#include "reports/doctor_writer.h"

namespace plumbline {

// One by one, in the order in which they were made.
void write_all_checks(DoctorWriter& writer, const DoctorReport& report);
// A line per probe.
void write_probes(DoctorWriter& writer, const DoctorReport& report);

}  // namespace plumbline
