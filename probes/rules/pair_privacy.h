// Whom macOS refuses where it keeps a program from the local network: what is known of who started
// it, and what has to be done, in words. Pure functions, thread-safe.
#pragma once

#include <string>

#include "core/diagnosis/finding.h"
#include "probes/evidence.h"

namespace plumbline {

struct PrivacyWords {
  std::string started;  // for the evidence; empty: it is not known who started the program
  Remedy remedy;
  double confidence = 0.9;
};
// Of the host that was refused.
PrivacyWords privacy_words(const HostEvidence& host);

}  // namespace plumbline
