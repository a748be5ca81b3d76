// ckrules 0.0.0: what host libraries share behind the interface of ckrules_kernel.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/ckrules_kernel.h"
#include "runtime/ckrules_reason.hpp"

namespace ckrules {

// A problem that the kernel cannot take, as opposed to a faulty call.
struct Refused : std::runtime_error
{
    using std::runtime_error::runtime_error;
};

inline void* pointer(const uint64_t address)
{
    return reinterpret_cast<void*>(static_cast<uintptr_t>(address));
}

// Turns exceptions into the interface's numbers.
template <typename Body>
int guarded(const Body& body)
{
    try
    {
        last_error().clear();
        return body() ? 1 : 0;
    }
    catch(const Refused& refused)
    {
        last_error() = refused.what();
        return 0;
    }
    catch(const std::exception& error)
    {
        last_error() = error.what();
    }
    catch(...)
    {
        last_error() = "unknown exception";
    }
    return -1;
}

// The problem, which the family lays out as a Layout.
template <typename Layout>
Layout unpacked(const ckrules_problem* problem)
{
    if(problem == nullptr || problem->size < sizeof(ckrules_problem) || problem->data == nullptr)
        throw std::invalid_argument("ckrules_problem is missing or of another version");
    if(problem->bytes != sizeof(Layout))
        throw std::invalid_argument("the problem has " + std::to_string(problem->bytes) +
                                    " bytes, expected " + std::to_string(sizeof(Layout)));
    Layout found;
    std::memcpy(&found, problem->data, sizeof(Layout));
    return found;
}

// The addresses of so many tensors.
inline const uint64_t* checked(const ckrules_buffers* buffers, const uint32_t count)
{
    if(buffers == nullptr || buffers->size < sizeof(ckrules_buffers) || buffers->tensors == nullptr)
        throw std::invalid_argument("ckrules_buffers is missing or of another version");
    if(buffers->tensor_count != count)
        throw std::invalid_argument(std::to_string(buffers->tensor_count) + " tensors, expected " +
                                    std::to_string(count));
    return buffers->tensors;
}

// What a stream-K kernel has to be told of the GPU.
inline const ckrules_room& checked(const ckrules_room* room)
{
    if(room == nullptr || room->size < sizeof(ckrules_room))
        throw std::invalid_argument("ckrules_room is missing: a stream-K kernel needs to know how "
                                    "many blocks the GPU has room for");
    if(room->compute_units < 1 || room->blocks_per_cu < 1)
        throw std::invalid_argument("ckrules_room: no compute units, or no blocks on them");
    return *room;
}

// The kernel's own answer; its reason is the last message that it has for users.
template <typename Check, typename Args>
bool supported(const Check& check, const Args& kargs)
{
    if(check(kargs))
        return true;
    if(last_error().empty())
        last_error() = "the kernel does not support these arguments";
    return false;
}

// Steps with the argument bytes they point to.
struct Plan : ckrules_plan
{
    void fill(const uint64_t address, const std::size_t bytes)
    {
        ckrules_step step{};
        step.kind    = CKRULES_FILL_ZERO;
        step.address = address;
        step.bytes   = bytes;
        steps_.push_back(step);
    }

    template <typename Args>
    void launch(const char* entry,
                const dim3 grid,
                const uint32_t threads,
                const uint32_t lds_bytes,
                const Args& args)
    {
        auto& bytes = bytes_.emplace_back(sizeof(Args));
        std::memcpy(bytes.data(), static_cast<const void*>(&args), sizeof(Args));
        ckrules_step step{};
        step.kind      = CKRULES_LAUNCH;
        step.lds_bytes = lds_bytes;
        step.entry     = entry;
        step.grid[0]   = grid.x;
        step.grid[1]   = grid.y;
        step.grid[2]   = grid.z;
        step.block[0]  = threads;
        step.block[1] = step.block[2] = 1;
        step.args                     = bytes.data();
        step.args_size                = bytes.size();
        steps_.push_back(step);
    }

    ckrules_plan* view()
    {
        ckrules_plan::size = sizeof(ckrules_plan);
        step_count         = static_cast<uint32_t>(steps_.size());
        steps              = steps_.data();
        return this;
    }

    private:
    std::vector<ckrules_step> steps_;
    std::deque<std::vector<char>> bytes_;
};

inline ckrules_plan* release(std::unique_ptr<Plan> plan) { return plan.release()->view(); }

inline void free_plan(ckrules_plan* plan)
{
    delete static_cast<Plan*>(plan);
}

} // namespace ckrules
