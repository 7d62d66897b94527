// Takes the names of processes out of a diagnosis that is sent to others: what else runs on a
// machine is nobody's business. The same name becomes the same process1 ... everywhere; our own
// stay plumbline, because the diagnosis depends on it.
#pragma once

#include "probes/evidence.h"
#include "reports/doctor.h"

namespace plumbline {

void hide_process_names(EvidenceSet& evidence, DoctorReport& report);

}  // namespace plumbline
