// Files and folders that decide what is started or who is trusted: a secret that others can read is
// none, and a folder that others may write holds whatever they put there. The errors name what is
// wrong and the command that mends it. Thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "core/error.h"

namespace plumbline {

// What stands in a file that is this user's (or root's), which nobody else may read, write or
// replace.
Expected<std::string> read_secret_file(const std::string& path, size_t most_bytes);
// The same, but that others may read it: what decides how something is done, and is no secret.
Expected<std::string> read_trusted_file(const std::string& path, size_t most_bytes);
// Every folder from / down to `folder`, itself included, is this user's or root's, and others may
// not write it; or it is sticky, like /tmp, so that nobody can replace what belongs to us. Links on
// the way are followed.
Status check_folders_above(const std::string& folder);

}  // namespace plumbline
