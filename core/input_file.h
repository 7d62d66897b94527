// Files that somebody names for us to read. Only regular ones are: a FIFO would make us wait for
// whoever writes it, a device may do anything when it is opened. Where the standard input is
// allowed ("-"), that is the caller's to know. Never blocks. Thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "core/error.h"
#include "core/fd.h"

namespace plumbline {

// kConfig, with the path and what lies there.
Expected<Fd> open_input_file(const std::string& path);
// The whole of it; a file of more than `most_bytes` is an error, found before it is read.
Expected<std::string> read_input_file(const std::string& path, size_t most_bytes);
// The same of a file that is open; `path` is for the error.
Expected<std::string> read_whole(const Fd& file, const std::string& path, size_t most_bytes);

}  // namespace plumbline
