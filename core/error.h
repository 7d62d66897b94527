// What went wrong, as a value: an Error (plumbline/error.h), and how it is handed up. Functions
// that meet the network or the user return Expected<T> and never throw across a folder's border;
// the first place that knows the facts builds the Error, callers only pass it up. Thread-safe
// values.
#pragma once

#include <cerrno>
#include <exception>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "plumbline/error.h"

namespace plumbline {

// The reverse of to_string(); kSystem for a word that is not known.
ErrorCode error_code_from(const std::string& word);

template <typename T>
using Expected = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

// Shorthand for `return fail(ErrorCode::kTimeout, "...")` from a function returning Expected.
inline tl::unexpected<Error> fail(ErrorCode code, std::string what, std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(what), 0, std::move(hint), {}});
}
// The same for a failed system call; `err` is the errno, saved before anything else can change it.
inline tl::unexpected<Error> fail_errno(ErrorCode code, std::string what, int err,
                                        std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(what), err, std::move(hint), {}});
}
// The same about ranks of the group: first the one at fault, as far as that is known.
inline tl::unexpected<Error> fail_about(std::vector<int> ranks, ErrorCode code, std::string what,
                                        std::string hint = {}) {
  return tl::unexpected<Error>(
      Error{code, std::move(what), 0, std::move(hint), {}, std::move(ranks)});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

// "ECONNREFUSED" for 111 on Linux; the number as text when it has no known name.
std::string errno_name(int err);

// ---- what to do when the system refuses a process, a thread, memory or a descriptor ----

// By the errno of the refusal (EAGAIN, ENOMEM, EMFILE): which limit may be behind it, what it is
// now and what raises it. Empty for any other errno.
std::string resource_hint(int err);

// ---- what an exception says, in words of ours: on one line, in printable ASCII, never long,
// without the pieces of text that libraries quote, which may be anything of any length, and without
// the names by which a library calls its errors ----

// A value that is not what was asked for, or a text that is no JSON: "bytes: must be number, but is
// string", "no JSON at line 2, column 7".
std::string json_trouble(const std::exception& error);

// Any exception: the system's answer where it has one, else what kind of thing went wrong.
std::string exception_words(const std::exception& error);

}  // namespace plumbline
