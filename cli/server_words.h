// What servers of language models said, taken out of what is sent to others: models are often
// called by the path of their folder, and errors say whatever the server's author put into them.
#pragma once

#include "probes/evidence.h"
#include "reports/doctor.h"

namespace plumbline {

// Models become model1 ...; errors the word for how the request ended; answers are left out.
void hide_server_words(EvidenceSet& evidence, DoctorReport& report);

}  // namespace plumbline
