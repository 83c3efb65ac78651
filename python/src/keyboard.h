// Long calls obey the keyboard: Ctrl-C ends them with KeyboardInterrupt.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <functional>

namespace mollify::python {

namespace nb = nanobind;

/// To be called once, when the module is imported.
void remember_main_thread();

/// Runs work(stop), without the GIL before and after. On the interpreter's main thread, which alone hears of signals, another thread does
/// the work meanwhile. Where a signal's handler raises, `stop` becomes true, and its exception is thrown once the work has ended.
void obey_keyboard(const std::function<void(const std::atomic<bool>& stop)>& work);

}  // namespace mollify::python
