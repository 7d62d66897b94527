// Bundles as files: read, verified with their signatures, and compared with one another.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/signature.h"
#include "core/error.h"
#include "reports/publish/bundle_verify.h"

namespace plumbline {

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
