#include "keyboard.h"

#include <chrono>
#include <exception>
#include <future>

namespace mollify::python {
namespace {

unsigned long main_thread = 0;  // as Python numbers threads

}  // namespace

void remember_main_thread() {
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
}

void obey_keyboard(const std::function<void(const std::atomic<bool>& stop)>& work) {
  std::atomic<bool> stop = false;
  if (PyThread_get_thread_ident() != main_thread) return work(stop);
  constexpr std::chrono::milliseconds kBetweenLooks{50};
  std::future<void> done = std::async(std::launch::async, [&] { work(stop); });
  while (done.wait_for(kBetweenLooks) != std::future_status::ready) {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() == 0) continue;
    nb::python_error error;
    const nb::gil_scoped_release release;
    stop = true;
    done.wait();
    throw error;
  }
  done.get();
}

}  // namespace mollify::python
