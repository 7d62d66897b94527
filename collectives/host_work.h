// The memory of engines that work on arrays of this process (collectives/engine.h): what remains to
// be written is how an operation runs.
#pragma once

#include "collectives/engine.h"
#include "collectives/operand.h"

namespace plumbline {

class HostWork : public EngineWork {
 public:
  HostWork(const OperationSpec& spec, const Group& group, size_t slots)
      : operand_(spec, group.rank(), group.size(), slots) {}

  void fill(size_t slot, uint32_t seed) override { operand_.fill(slot, seed); }
  uint64_t count_wrong(size_t slot, uint32_t seed) const override {
    return operand_.count_wrong(slot, seed);
  }

 protected:
  const void* in(size_t slot) const { return operand_.in(slot); }
  void* out(size_t slot) const { return operand_.out(slot); }

 private:
  Operand operand_;
};

}  // namespace plumbline
