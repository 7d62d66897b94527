// Bundles as files: read, verified with their signatures, and compared with one another. A bundle
// is signed by the ssh key that a submitter has anyway: `ssh-keygen -Y sign` and `-Y verify` in the
// namespace plumbline-bundle, over the canonical content. A file of allowed signers (man
// ssh-keygen, ALLOWED SIGNERS) says which keys are whose. Runs ssh-keygen without a shell and with
// a deadline.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"
#include "core/error.h"
#include "reports/publish/bundle_verify.h"

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

inline constexpr const char* kCommunityFolder = "reports/community";
inline constexpr const char* kAllowedSigners = "allowed_signers";  // in that folder

// Exit code: the files could be read, and what they say is not right.
inline constexpr int kWrongContent = 3;

struct VerifiedBundle {
  BundleReport report;
  SignatureCheck signature;
};

// At most a little more than a bundle may have; kConfig when there is no such file.
Expected<std::string> read_bundle_file(const std::string& path);

// One after the other, in this order, then against each other. A bad signature is a problem of its
// bundle; one that could not be checked is none, and `signature` says why.
Expected<std::vector<VerifiedBundle>> verify_files(const std::vector<std::string>& files,
                                                   const std::string& allowed_signers);

// --allowed-signers, which must name a file, or else `usual`, which need not be there.
Expected<std::string> allowed_signers_of(const Args& args, const std::string& usual);

// A flag for what is dated later than tomorrow. Never part of a page, which must not depend on a
// clock.
void flag_future(BundleReport& report);

// The *.json files of a folder, sorted by name.
Expected<std::vector<std::string>> bundle_files(const std::string& folder);

// "FILE: ok, 24 rows ..." or its problems, and the flags; control characters taken out.
std::string verdict_text(const VerifiedBundle& bundle);

}  // namespace plumbline
