#include "cli/last_words.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "core/error.h"

namespace plumbline {

std::string words_for(const std::exception& error, const std::string& command) {
  const auto refused = [&](const char* what, int err) {
    return Error{ErrorCode::kSystem, what + command, err, resource_hint(err), ""}.message();
  };
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      dynamic_cast<const std::length_error*>(&error) != nullptr) {
    return refused("get memory for ", ENOMEM);
  }
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return refused("start another thread for ", EAGAIN);
  }
  const char* what = system != nullptr ? "the system refused something" : "internal error";
  return fmt::format("{}: {}; please report it with the command line that you used", what,
                     exception_words(error));
}

namespace {

void write_words(std::string_view words) {
  // Whatever becomes of it: there is nobody else to tell.
  static_cast<void>(!::write(STDERR_FILENO, words.data(), words.size()));
}

[[noreturn]] void end_in_words() {
  try {
    const std::exception_ptr error = std::current_exception();
    // Without an exception: one that passed a thread which still ran, because the next could not be
    // started.
    if (!error) {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    // Said without asking for more.
    write_words(
        "plumbline: get memory for a thread of plumbline: Cannot allocate memory (ENOMEM); raise "
        "the limit of address space (ulimit -v), or use smaller sizes or fewer ranks\n");
  } catch (const std::exception& error) {
    write_words("plumbline: " + words_for(error, "plumbline") + "\n");
  } catch (...) {
    write_words("plumbline: a thread ended with an error that has no name; please report it\n");
  }
  _exit(1);
}

}  // namespace

void say_last_words() { std::set_terminate(end_in_words); }

}  // namespace plumbline
