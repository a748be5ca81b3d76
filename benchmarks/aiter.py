"""How long ``ckrules check`` takes for tables as long as aiter's, and how much memory.

python benchmarks/aiter.py [ROWS]

The tables are made here: 54,000 rows, as aiter's held in August 2026, with its columns, names
of each library in the shares that they had there, and the sizes of real models. Times and rates
belong together but for one row in a thousand; a fortieth of the shapes is in a second table, some
with another winner, as there. The goal is 10 s and 200 MB on one core.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

GOAL_SECONDS, GOAL_MEGABYTES = 10.0, 200.0
HEAD = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio"
#: Library, share in thousandths, and how its names look.
LIBRARIES = (
    (
        "ck",
        810,
        "a8w8_blockscale_256x16x64x{}_16x16_1x1_32x8x1_32x8x1_1x16x1x16_4x4x1_1x1_intrawave_v3",
    ),
    ("flydsl", 70, "flydsl_bpreshuflle_{}x128x256_F8_F8_B16_2x0x0"),
    ("asm", 64, "_ZN5aiter41I8gemm_bf16_perTokenI8_BpreShuffle_{}x128E"),
    ("triton", 19, "_gemm_a8w8_blockscale_kernel_{}"),
    ("opus", 15, "opus_gemm_{}x128x128"),
    ("cktile", 22, "a8w8_blockscale_cktile_{}x128x128_1x4x1_16x16x64_intrawave_0x1x0_{}"),
)
WEIGHTS = ((2048, 3072), (7168, 4608), (1536, 5120), (768, 7168), (4096, 512), (24576, 1536))
OPERATION = "a8w8_blockscale_tuned_gemm"


def rows(number: int, rng: random.Random) -> Iterator[str]:
    """Rows of a table, each with a shape of its own."""
    names, shares = zip(
        *(((library, name), share) for library, share, name in LIBRARIES), strict=True
    )
    for i in range(number):
        n, k = WEIGHTS[i % len(WEIGHTS)]
        m = 1 + i // len(WEIGHTS)
        (library, name), gpu = (
            rng.choices(names, shares)[0],
            rng.choice(("gfx942,304", "gfx950,256")),
        )
        kernel = name.format(rng.choice((16, 32, 64, 128)), rng.randint(1, 4))
        us = 4 + 2 * m * n * k / rng.uniform(1e8, 6e8)
        tflops = 2 * m * n * k / us / 1e6 * (1.2 if rng.random() < 0.001 else 1)
        moved = (m * k + n * k + 2 * m * n) / us / 1e3
        yield (f"{gpu},{m},{n},{k},{library},{rng.randint(0, 90)},0,{us:.4f},{kernel},"
               f"{tflops:.2f},{moved:.2f},0.0")  # fmt: skip


def main() -> int:
    """Makes the tables, checks them as a user does, and prints what it took."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 54_000
    rng = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="ckrules-bench-") as folder:
        configs = Path(folder, "aiter", "configs")
        (configs / "model_configs").mkdir(parents=True)
        made = list(rows(number * 40 // 41, rng))
        (configs / f"{OPERATION}.csv").write_text("\n".join([HEAD, *made]) + "\n")
        again = [line.replace("x128", "x256") for line in rng.sample(made, number // 41)]
        model = configs / "model_configs" / f"{OPERATION}_model.csv"
        model.write_text("\n".join([HEAD, *again]) + "\n")
        words = ("check", "--isolated", "--format", "summary", "--exit-zero", folder)
        begin = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "ckrules", *words], check=False,
                              capture_output=True, text=True, env={**os.environ})  # fmt: skip
        took = time.perf_counter() - begin
    print(done.stdout + done.stderr, end="")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    megabytes, processor = used.ru_maxrss / 1024, used.ru_utime + used.ru_stime
    # on a busy machine the processor's time says more than the clock
    print(f"{len(made) + len(again):,} rows in {took:.1f} s, {processor:.1f} s of a processor, "
          f"{megabytes:.0f} MB (goal: {GOAL_SECONDS:g} s, {GOAL_MEGABYTES:g} MB)")  # fmt: skip
    return int(done.returncode != 0 or took > GOAL_SECONDS or megabytes > GOAL_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
