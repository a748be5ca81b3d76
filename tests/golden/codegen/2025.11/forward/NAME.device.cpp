// POINT
// ckrules 0.0.0, rule book test, NAME
// Device code object: one extern "C" entry for each instantiation that a launch may need.
#define CKRULES_TYPES_ONLY 1
#include "runtime/ckrules_device.h"

#include "NAME.hpp"

namespace kernel = ns_NAME;

using Entry1 = kernel::Variant<true, ck_tile::TailNumber::Full, ck_tile::memory_operation_enum::set>::Kernel;

extern "C" CKRULES_ENTRY(Entry1::kBlockSize, kernel::Config::kBlockPerCu)
    NAME__hot_full_set(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry1{}(kargs));
}

using Entry2 = kernel::Variant<false, ck_tile::TailNumber::Odd, ck_tile::memory_operation_enum::set>::Kernel;

extern "C" CKRULES_ENTRY(Entry2::kBlockSize, kernel::Config::kBlockPerCu)
    NAME__cold_odd_set(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry2{}(kargs));
}

using Entry3 = kernel::Variant<false, ck_tile::TailNumber::Even, ck_tile::memory_operation_enum::set>::Kernel;

extern "C" CKRULES_ENTRY(Entry3::kBlockSize, kernel::Config::kBlockPerCu)
    NAME__cold_even_set(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry3{}(kargs));
}
