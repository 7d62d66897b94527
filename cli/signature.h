// Signatures of bundles, by the ssh key that a submitter has anyway: `ssh-keygen -Y sign` and
// `-Y verify` in the namespace plumbline-bundle, over the canonical content. A file of allowed
// signers (man ssh-keygen, ALLOWED SIGNERS) says which keys are whose. Runs ssh-keygen without a
// shell and with a deadline.
#pragma once

#include <string>

#include "core/error.h"

namespace plumbline {

// The signature in OpenSSH's armour. A key with a passphrase must be in the agent; then the public
// half of it will do as `key_file`.
Expected<std::string> sign_bundle(const std::string& content, const std::string& key_file);

struct SignatureCheck {
  enum class State {
    kUnsigned,
    kSigned,      // by `who`
    kUnknown,     // sound, but no allowed signer: `who` is the key's fingerprint
    kBad,         // does not fit the content
    kNotChecked,  // ssh-keygen is missing or did not answer
  };
  State state = State::kUnsigned;
  std::string who;
  std::string why;  // of kBad and kNotChecked

  // "unsigned", "signed by X", "signed by an unknown key", "not checked"
  std::string text() const;
  // The same for all signatures of one key, another for any other key; empty = nobody's.
  std::string signer() const;
};

// `allowed_signers` may name no file: then every sound signature is of an unknown key. `date`
// (YYYY-MM-DD) is the day for which a key must have been allowed, so that a page does not change
// when a key expires. The signer chooses that day: whoever has an expired key can date a bundle
// back, so a key that is lost is revoked by removing its line.
SignatureCheck check_signature(const std::string& content, const std::string& signature,
                               const std::string& allowed_signers, const std::string& date);

}  // namespace plumbline
