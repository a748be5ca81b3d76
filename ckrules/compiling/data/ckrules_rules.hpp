/* What generated conditions call (codegen/condition.py). Division rounds down, as in Python. */
#pragma once

namespace ckrules_rules {

using whole = __int128;

inline whole floor_div(whole a, whole b)
{
    return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

inline whole modulo(whole a, whole b) { return a - floor_div(a, b) * b; }
inline whole least(whole a, whole b) { return b < a ? b : a; }
inline whole greatest(whole a, whole b) { return b > a ? b : a; }
inline bool power_of_two(whole a) { return a > 0 && (a & (a - 1)) == 0; }


/* The row of a table whose first numbers are the keys; a row's last number is its value. */
template <typename Row, unsigned long Rows, typename... Keys>
const Row* find_row(const Row (&table)[Rows], Keys... keys)
{
    const whole wanted[] = {keys...};
    for(const Row& row : table)
    {
        bool same = true;
        for(unsigned long k = 0; k < sizeof...(Keys); ++k)
            same = same && row[k] == wanted[k];
        if(same)
            return &row;
    }
    return nullptr;
}

/* The value of that row, 0 without one. */
template <typename Row, unsigned long Rows, typename... Keys>
whole last_of(const Row (&table)[Rows], Keys... keys)
{
    const Row* const row = find_row(table, keys...);
    return row != nullptr ? whole((*row)[sizeof...(Keys)]) : whole(0);
}

} // namespace ckrules_rules
