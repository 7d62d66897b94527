// Several small tasks at the same time, each in a thread of its own; where the system gives no more
// threads, what is left is done here, one after another. Tasks have deadlines of their own.
#pragma once

#include <cstddef>
#include <functional>

namespace plumbline {

// task(0) to task(count - 1), all done when this returns. Tasks must not throw.
void side_by_side(size_t count, const std::function<void(size_t)>& task);

}  // namespace plumbline
