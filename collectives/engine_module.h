// What a module is: another library's implementation of the operations, in a shared object of its
// own (plumbline_engine_gloo.so) that is opened at run time where the library is there, so that the
// program itself is linked with none of them (collectives/module_loader.h opens it,
// collectives/module_engine.h makes an engine of it). This header is all that both sides share; it
// needs no code of the program. A module answers with the number of this interface first, and one
// that says another number is not called at all. Exceptions stay inside a module; what goes wrong
// is an Error in our words. One thread per rank, which need not be the first of its process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/op.h"

namespace plumbline {

// Goes up with every change of this file and of the enums and classes that it shows.
inline constexpr uint32_t kEngineModuleVersion = 2;

// One operation, in the terms of collectives/schedule.h.
struct ModuleOperation {
  Op op = Op::kAllreduce;
  DType dtype = DType::kF32;
  RedOp redop = RedOp::kSum;
  int root = 0;
  uint64_t count = 0;  // elements of one rank's argument
  size_t width = 4;    // bytes of an element
  bool in_place = false;
};

// What a module may ask of the program, on the thread of its rank.
class ModuleHost {
 public:
  virtual ~ModuleHost() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // By which the others reach this rank: "10.0.0.1".
  virtual std::string address() const = 0;
  // Collective: everybody's text, in the order of the ranks; at most kLongestText bytes each.
  virtual Expected<std::vector<std::string>> gather(const std::string& mine) = 0;
  // A rank was lost, or gave up: what is waited for will not come. Cheap.
  virtual bool failed() const = 0;

  static constexpr size_t kLongestText = 1 << 20;
};

// An operation of one shape, of which one is in flight at a time.
class ModuleWork {
 public:
  virtual ~ModuleWork() = default;
  virtual Status start(const void* in, void* out) = 0;
  // Goes on without waiting; true = it has ended. What can only wait (EngineModule::waits) does so,
  // until the deadline at most.
  virtual Expected<bool> poll(Deadline deadline) = 0;
  // What the library was called with: "MPI_Iallreduce".
  virtual std::string algorithm() const = 0;
};

// The library, joined with the other ranks.
class ModuleEngine {
 public:
  virtual ~ModuleEngine() = default;
  virtual Expected<std::unique_ptr<ModuleWork>> prepare(const ModuleOperation& operation) = 0;
  virtual std::string library() const = 0;    // with its version
  virtual std::string transport() const = 0;  // over what it runs, as far as it says
  // Something has failed in it: it is left behind rather than closed, where closing would wait for
  // ranks that are gone.
  virtual void broken() = 0;
};

class EngineModule {
 public:
  virtual ~EngineModule() = default;
  // Why it cannot be used by this process, or empty.
  virtual std::string unavailable() const = 0;
  // Why it cannot do this, or empty.
  virtual std::string unsupported(const ModuleOperation& operation, int ranks) const = 0;
  // An operation ends inside of one call: no two of them are in flight at once.
  virtual bool waits() const = 0;
  // Collective. Once a group; `host` outlives the engine.
  virtual Expected<std::unique_ptr<ModuleEngine>> open(ModuleHost& host, Deadline deadline) = 0;
};

}  // namespace plumbline

// The two symbols of a module.
extern "C" {
[[gnu::visibility("default")]] uint32_t plumbline_engine_module_version();
// One a process, never deleted.
[[gnu::visibility("default")]] plumbline::EngineModule* plumbline_engine_module();
}
