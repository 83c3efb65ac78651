// What pixels are stored as, in a backend's own words.
#pragma once

#include "mollify/image.h"

namespace mollify {

/// The member of a backend's enumeration of components that a format stores. Kernels of CUDA are compiled without the library's headers,
/// so each backend has an enumeration of its own.
template <class Component>
[[nodiscard]] constexpr Component component_of(const FormatInfo& format) {
  switch (format.component_class) {
    case ComponentClass::unorm:
      return format.bits == 8 ? Component::u8 : Component::u16;
    case ComponentClass::sint:
      return Component::i32;
    case ComponentClass::uint:
      return Component::u32;
    case ComponentClass::floating:
      break;
  }
  return format.bits == 16 ? Component::f16 : format.bits == 32 ? Component::f32 : Component::f64;
}

}  // namespace mollify
