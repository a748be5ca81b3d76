// POINT
// ckrules 0.0.0, rule book test, NAME
// Compiles the kernel's launcher as a unit of its own.
#include "NAME.hpp"

namespace ckrules_units {

// Holds the launcher's address, so that compiler and linker keep it with its kernels.
decltype(&NAME_Launcher::launch) volatile NAME_linked =
    &NAME_Launcher::launch;

} // namespace ckrules_units
