// What lies in a folder that all hosts of a job must have, a model for example: its files, how long
// they are, and a SHA-256 of each that tells whether two hosts have the same. Of small files all is
// read; of large ones samples, spread evenly, the same places on every host; with `deep` all of
// everything. Files that say themselves how they belong together are believed (model_files.h).
// Names that begin with a dot are left out: systems and downloaders keep notes in them. Read-only;
// what lies there is not trusted. Never longer than the call's deadline: what was not read until
// then has no digest. Thread-safe.
#pragma once

#include "core/diagnosis/host_agent.h"
#include "probes/agent_requests.h"

namespace plumbline {

// A path that is none is an Error; what is wrong with what lies there is in the evidence.
Expected<ArtifactEvidence> read_artifact(const AskArtifact& asked, const AgentCall& call);

}  // namespace plumbline
