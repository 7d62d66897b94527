#include "collectives/engines/mpi_start.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "core/number.h"

namespace plumbline {
namespace {

// What the thread leaves behind; it may outlive whoever waited for it.
struct Started {
  std::atomic<bool> ended{false};
  int code = MPI_SUCCESS;
  int provided = MPI_THREAD_SINGLE;
};

}  // namespace

Error mpi_error(int code, const std::string& doing) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  std::string words(text.data(), static_cast<size_t>(length));
  words.resize(words.find_first_of("\r\n") < words.size() ? words.find_first_of("\r\n")
                                                          : words.size());
  return {ErrorCode::kPeerLost, doing + ": MPI says: " + words, 0, "", ""};
}

Status initialize_mpi(ModuleHost& host, Deadline deadline,
                      const std::function<Status()>& meanwhile) {
  const auto started = std::make_shared<Started>();
  std::thread([started] {
    started->code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &started->provided);
    started->ended = true;
  }).detach();
  while (!started->ended) {
    if (const Status going = meanwhile(); !going) return going;
    if (host.failed()) return fail(ErrorCode::kAborted, "a rank was lost while MPI started");
    if (deadline.passed()) {
      return fail(ErrorCode::kTimeout, "MPI did not start in time",
                  "a larger connect_timeout_ms may help");
    }
  }
  if (started->code != MPI_SUCCESS) return fail(mpi_error(started->code, "starting MPI"));
  if (started->provided < MPI_THREAD_SERIALIZED) {
    return fail(ErrorCode::kUnsupported, "this MPI cannot be used from several threads");
  }
  return {};
}

int ranks_by(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : parse_whole<int>(text, 0).value_or(0);
}

}  // namespace plumbline
