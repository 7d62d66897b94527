// What servers of language models said and what files of models are called, taken out of what is
// sent to others: models are often called by the path of their folder, which may begin with a
// user's name, and errors say whatever the server's author put into them.
#pragma once

#include "probes/evidence.h"
#include "reports/doctor.h"

namespace plumbline {

// Models become model1 ..., paths /artifact1 ..., files file1 ..., their hashes digest1 ...,
// packages that only a scenario names package1 ...; errors the word for how the request ended;
// answers are left out.
void hide_server_words(EvidenceSet& evidence, DoctorReport& report);

}  // namespace plumbline
