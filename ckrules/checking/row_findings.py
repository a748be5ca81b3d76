"""Findings about rows of tuned tables: what cannot be true of a measurement, or is odd about it."""

from __future__ import annotations

from ckrules.checking.finding_kind import FindingKind

ROWS = (
    FindingKind(
        "ROW001", "size-not-whole", "error",
        "The sizes of a row's problem are positive integers.",
        "The look-up of the table compares integers: such a row is never found.",
    ),
    FindingKind(
        "ROW002", "time-of-no-run", "warning",
        "A row's time is positive.",
        (
            "A time of 0 is not a measurement, and where tables are merged it wins over every row "
            "that was measured: aiter keeps the smallest time of a problem."
        ),
    ),
    FindingKind(
        "ROW003", "rate-not-of-time", "warning",
        "TFLOPS and bandwidth are those of the row's sizes and time.",
        (
            "TFLOPS may differ by 2 %, the bandwidth, which tuners count in several ways, by a "
            "factor of two. The time and the sizes are taken for true; `--fix` writes the rate "
            "that follows from them."
        ),
    ),
    FindingKind(
        "ROW004", "two-winners", "warning",
        "A problem has one winner, in a table and in all that are merged with it.",
        (
            "Tables whose names say the same operation are merged (aiter's `model_configs`). "
            "The row with the smaller time wins there, whichever GPU of the kind it came from."
        ),
    ),
    FindingKind(
        "ROW005", "many-elements-wrong", "warning",
        "The kernel of a row computed right.",
        "The share of wrong elements is above that with which the tuner refuses a kernel (5 %).",
    ),
    FindingKind(
        "ROW006", "row-twice", "warning",
        "A table has a problem and its kernel once, and so have all that are merged with it.",
        "The row with the smaller time wins; within a file `--fix` removes the other one.",
    ),
    FindingKind(
        "ROW007", "kernel-in-no-list", "warning",
        "The lists that were read have every kernel that tables take.",
        (
            "Found where a run reads lists and tables together. A kernel in no list is not built, "
            "and a row that names it is a fault at run time. Launch bounds, padding and types are "
            "left out of the comparison: the tool adds them itself."
        ),
    ),
    FindingKind(
        "ROW008", "gpu-of-other-file", "warning",
        "A row's GPU and compute units are those that the file's name says.",
        "Said once a file for each GPU or number.",
    ),
    FindingKind(
        "ROW009", "type-contradicted", "warning",
        "The types that a row's columns say are those of its kernel and of its GPU.",
        (
            "8-bit floats are FNUZ on gfx942 and OCP on later GPUs: a row with the other format is "
            "never found there."
        ),
    ),
    FindingKind(
        "ROW010", "product-not-known", "note",
        "A product is known that has the GPU and the compute units of a row.",
        (
            "Its figures are needed for comparisons with peaks, which are left out for such rows. "
            "Another product is not taken in its place. Partitions of a GPU count as unknown."
        ),
    ),
    FindingKind(
        "ROW011", "faster-than-the-gpu", "error",
        "No row is faster than its GPU can be.",
        (
            "The time is less than the matrix units need for the operations at the highest clock, "
            "or than memory needs for the operands that do not fit in caches. Such a row "
            "measured something else, and wins over every true one."
        ),
    ),
    FindingKind(
        "ROW012", "kernel-not-for-row", "error",
        "The kernel of a row takes the row's sizes, in as many parts as the row splits K into.",
        (
            "The rules on problems say so, as for `--problem`; the message names the rule. Its "
            "argument check ends the call, or the results are wrong. Said of kernels whose "
            "family has such rules, with the padding that the tool chooses for the sizes."
        ),
    ),
)  # fmt: skip
