/* The calls of ckrules_dispatcher.h. */
#include <string>
#include <vector>

#include "ckrules_kernels.hpp"

#include "ckrules_dispatcher.h"

using namespace ckrules_runtime;

namespace {

int refused(int status, const std::string& why)
{
    error = why;
    return status;
}

/* The parts of "dtype=fp16,layout=rcr", each as ;dtype=fp16; */
std::vector<std::string> asked(const char* fields)
{
    std::vector<std::string> found;
    std::string part;
    for(const char* at = fields; at != nullptr; ++at)
    {
        if(*at != ',' && *at != '\0')
        {
            part += *at;
            continue;
        }
        if(!part.empty())
            found.push_back(";" + part + ";");
        part.clear();
        if(*at == '\0')
            break;
    }
    return found;
}

bool has_all(const ckrules_listed& kernel, const std::vector<std::string>& parts)
{
    for(const std::string& part : parts)
        if(std::string(kernel.fields).find(part) == std::string::npos)
            return false;
    return true;
}

bool known_field(const std::string& part)
{
    const std::string name = part.substr(0, part.find('=') + 1);
    for(size_t i = 0; part.find('=') != std::string::npos && i < ckrules_all.count; ++i)
        if(std::string(ckrules_all.kernels[i].fields).find(name) != std::string::npos)
            return true;
    return false;
}

bool complete(const ckrules_call* call)
{
    return call != nullptr && call->size >= sizeof(ckrules_call) && call->variant != nullptr &&
           call->problem.size >= sizeof(ckrules_problem) && call->problem.data != nullptr;
}

/* The bytes that the variant's problems have at the least. */
bool sized(const Kernel& k, const ckrules_problem& problem)
{
    return problem.bytes >= k.listed->least;
}

/* What a call chooses. */
struct Found
{
    Kernel* kernel = nullptr;
    Time time;
    double copying      = 0.0; /* microseconds */
    double work         = 0.0; /* what padding multiplies, as it is padded */
    uint32_t candidates = 0;
    std::string larger; /* the bytes of the padded problem; none if it runs as it is */

    double cost() const { return time.cost() + copying; }

    /* By time; where nothing is known of it, by what padding adds to the work. */
    bool before(const Found& other) const
    {
        return cost() < other.cost() || (cost() == other.cost() && work < other.work);
    }
};

/* The kernel of a call. The lock is held. */
int choose(const ckrules_call* call, Found& best, bool pad = false)
{
    if(!complete(call))
        return refused(CKRULES_BAD_CALL, "the call is missing, of another version, or says no "
                                         "variant or problem");
    const std::vector<std::string> parts = asked(call->fields);
    for(const std::string& part : parts)
        if(!known_field(part))
            return refused(CKRULES_BAD_CALL,
                           "no kernel has a field as in '" + part.substr(1, part.size() - 2) + "'");
    error = "no kernel of variant " + std::string(call->variant) + " has these fields";
    bool named = call->kernel == nullptr;
    for(Kernel& k : all())
    {
        if(call->kernel != nullptr && std::string(call->kernel) != k.listed->name)
            continue;
        named = true;
        if(std::string(k.listed->variant) != call->variant || !has_all(*k.listed, parts))
            continue;
        if(!sized(k, call->problem))
            return refused(CKRULES_BAD_CALL, "the problem is too short for " +
                                                 std::string(k.listed->variant));
        Found own;
        own.kernel              = &k;
        ckrules_problem problem = call->problem;
        if(pad)
        {
            own.larger = padded(k, call->problem, own.copying);
            problem    = {sizeof(problem), 0, own.larger.size(), own.larger.data()};
        }
        if(pad ? own.larger.empty() : !takes(k, problem))
            continue;
        own.candidates = best.candidates + 1;
        const Kernel* const other = best.kernel;
        if(other != nullptr && std::string(other->listed->computes) != k.listed->computes)
            return refused(CKRULES_BAD_CALL,
                           "the kernels compute different things (" +
                               std::string(other->listed->computes) + " and " +
                               k.listed->computes + "): name the field that tells them apart");
        own.time = time_of(k, problem);
        own.work = sizes_padded(k, problem);
        if(other == nullptr || own.before(best))
            best = own;
        best.candidates = own.candidates;
    }
    if(!named)
        return refused(CKRULES_BAD_CALL, "no kernel is named " + std::string(call->kernel));
    return best.kernel != nullptr ? CKRULES_OK : CKRULES_NO_KERNEL;
}

int chosen(int status, const Found& found, ckrules_choice& choice)
{
    const bool good     = status == CKRULES_OK;
    choice.candidates   = found.candidates;
    choice.kernel       = good ? found.kernel->listed->name : nullptr;
    choice.source       = static_cast<uint32_t>(found.time.source);
    choice.microseconds = found.time.microseconds;
    choice.copying      = found.copying;
    return status;
}

bool complete(const ckrules_choice* choice)
{
    return choice != nullptr && choice->size >= sizeof(ckrules_choice);
}

/* The kernel, loaded, with what its plan takes. The lock is held. */
int prepare(const ckrules_call* call, Kernel*& k, ckrules_room& room, const ckrules_room*& given)
{
    Found found;
    const int status = choose(call, found);
    if(status != CKRULES_OK)
        return status;
    k = found.kernel;
    return open_hip() && load_code(*k) && find_room(*k, room, given) ? CKRULES_OK : CKRULES_FAILED;
}

int carried_out(const ckrules_call* call, const ckrules_buffers* buffers, void* stream, int warmups,
                int repeats, float* milliseconds)
{
    if(buffers == nullptr)
        return refused(CKRULES_BAD_CALL, "no buffers are given");
    const std::lock_guard<std::mutex> guard(lock);
    Kernel* k = nullptr;
    ckrules_room room;
    const ckrules_room* given = nullptr;
    const int status          = prepare(call, k, room, given);
    if(status != CKRULES_OK)
        return status;
    Plan plan{*k};
    if(!plan.make(call->problem, given, *buffers))
        return CKRULES_BAD_CALL;
    if(milliseconds == nullptr)
    {
        for(const uint32_t kind : {CKRULES_FILL_ZERO, CKRULES_LAUNCH})
            if(!carry_out(*k, *plan.steps, kind, stream))
                return CKRULES_FAILED;
        return CKRULES_OK;
    }
    *milliseconds = measured(*k, *plan.steps, stream, warmups, repeats);
    return *milliseconds < 0.0f ? CKRULES_FAILED : CKRULES_OK;
}

const ckrules_listed* at(int index)
{
    const bool there = index >= 0 && static_cast<size_t>(index) < ckrules_all.count;
    return there ? &ckrules_all.kernels[index] : nullptr;
}

} // namespace

CKRULES_API int ckrules_dispatcher_count(void) { return static_cast<int>(ckrules_all.count); }

CKRULES_API const char* ckrules_dispatcher_name(int index)
{
    return at(index) != nullptr ? at(index)->name : nullptr;
}

CKRULES_API const char* ckrules_dispatcher_fields(int index)
{
    return at(index) != nullptr ? at(index)->fields : nullptr;
}

CKRULES_API int ckrules_dispatcher_select(const ckrules_call* call, ckrules_choice* choice)
{
    if(!complete(choice))
        return refused(CKRULES_BAD_CALL, "the choice is missing or of another version");
    const std::lock_guard<std::mutex> guard(lock);
    Found found;
    return chosen(choose(call, found), found, *choice);
}

CKRULES_API int ckrules_dispatcher_pad(const ckrules_call* call, void* problem,
                                       ckrules_choice* choice)
{
    if(!complete(choice) || problem == nullptr)
        return refused(CKRULES_BAD_CALL, "the choice or the place of the problem is missing");
    const std::lock_guard<std::mutex> guard(lock);
    Found found;
    int status = choose(call, found);
    if(status == CKRULES_NO_KERNEL)
    {
        const std::string why = error;
        found                 = Found{};
        status                = choose(call, found, true);
        if(status == CKRULES_NO_KERNEL)
            error = why; /* of the problem as it was asked for */
    }
    if(status == CKRULES_OK)
    {
        const bool same = found.larger.empty();
        std::memmove(problem, same ? call->problem.data : found.larger.data(),
                     same ? call->problem.bytes : found.larger.size());
    }
    return chosen(status, found, *choice);
}

CKRULES_API int64_t ckrules_dispatcher_workspace(const ckrules_call* call)
{
    const std::lock_guard<std::mutex> guard(lock);
    Found found;
    ckrules_room room;
    const ckrules_room* given = nullptr;
    int status                = choose(call, found);
    Kernel* k                 = found.kernel;
    if(status == CKRULES_OK && k->info->needs_room != 0)
        status = prepare(call, k, room, given);
    if(status != CKRULES_OK)
        return status;
    const int64_t bytes = k->workspace(&call->problem, given);
    return bytes < 0 ? refused(CKRULES_BAD_CALL, k->last_error()) : bytes;
}

CKRULES_API int ckrules_dispatcher_launch(const ckrules_call* call, const ckrules_buffers* buffers,
                                          void* stream)
{
    return carried_out(call, buffers, stream, 0, 0, nullptr);
}

CKRULES_API int ckrules_dispatcher_measure(const ckrules_call* call, const ckrules_buffers* buffers,
                                           void* stream, int warmups, int repeats,
                                           float* milliseconds)
{
    if(milliseconds == nullptr || warmups < 0 || repeats < 1)
        return refused(CKRULES_BAD_CALL, "at least one run is measured, into milliseconds");
    return carried_out(call, buffers, stream, warmups, repeats, milliseconds);
}

CKRULES_API const char* ckrules_dispatcher_error(void) { return error.c_str(); }

CKRULES_API void ckrules_dispatcher_close(void)
{
    const std::lock_guard<std::mutex> guard(lock);
    for(Kernel& k : all())
        close(k);
}
