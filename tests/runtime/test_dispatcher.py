"""The dispatcher on described kernels: selecting, running, padding, errors."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckrules.compiling.database import FILE
from ckrules.device.dtypes import decode, encode
from ckrules.device.interface import DeviceError
from ckrules.kernels.families import problems_of
from ckrules.runtime import Dispatcher, KernelFaultError, NoKernelError
from ckrules.runtime.padding import stored
from ckrules.support.errors import UnknownNameError, UsageError
from tests.runtime.doubles import CONV, DEPTHWISE, GEMM, OPENER, AnyDevice, folder

CONV_TEXT = "N=2,G=2,C=16,K=32,H=7,W=6,Y=3,X=3,pad=1"
Double = Callable[..., str]


def dispatcher(place: Path, device: Any = None, **more: Any) -> Dispatcher:
    return Dispatcher(place, device=device or AnyDevice(), opener=OPENER, **more)


def arrays(choice: Any, seed: int = 1) -> list[Any]:
    """Random inputs of a choice, in small whole numbers."""
    random = np.random.default_rng(seed)
    found = []
    for tensor in choice.tensors:
        if tensor.direction == "in":
            values = random.integers(-3, 4, stored(tensor)).astype(np.float32)
            found.append(encode(values, tensor.dtype))
    return found


def expected(choice: Any, given: list[Any]) -> Any:
    """The result by the family's reference, in the order of memory."""
    tensors = problems_of(choice.kernel.variant).tensors(choice.problem, choice.kernel.config)
    reads = [t for t in tensors.all if t.direction == "in"]
    (result,) = (t for t in tensors.all if t.direction == "out")
    data = {
        t.name: decode(bits.reshape(stored(t)), t.dtype).transpose(np.argsort(t.order))
        for t, bits in zip(reads, given, strict=True)
    }
    return encode(tensors.reference(data)[result.name], result.dtype).transpose(result.order)


VARIANTS: list[tuple[dict[str, Any], str]] = [
    (CONV, CONV_TEXT),
    ({**CONV, "variant": "bwd_data"}, CONV_TEXT),
    ({**CONV, "variant": "bwd_weight"}, f"{CONV_TEXT},split_k=2"),
    ({**CONV, "variant": "bwd_weight", "two_stage": True}, CONV_TEXT),
    ({**CONV, "dtype": "bf16"}, CONV_TEXT),
    ({**CONV, "dtype": "fp32"}, CONV_TEXT),
    (DEPTHWISE, "N=2,G=8,C=8,K=8,H=7,W=6,Y=3,X=3,pad=1"),
    (GEMM, "M=9,N=16,K=24"),
    ({**GEMM, "layout": "crr"}, "M=9,N=16,K=24"),
    ({**GEMM, "variant": "multi_d", "num_d": 2, "elementwise_op": "add", "layout": "rcrr"},
     "M=9,N=16,K=24"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "text"), VARIANTS)
def test_every_family_and_direction_runs(tmp_path: Path, config: Any, text: str) -> None:
    with dispatcher(folder(tmp_path, k=config)) as d:
        assert d.supported(text) == ["k"]
        choice = d.select(text)
        assert not choice.padded
        given = arrays(choice)
        found = d.run(text, *given)
        assert found.tolist() == expected(choice, given).tolist()
        names = [t.name for t in choice.tensors if t.direction == "in"]
        out = np.zeros_like(found)
        assert d.run(text, dict(zip(names, given, strict=True)), out=out) is out
        assert out.tolist() == found.tolist()


ODD = st.integers(1, 19)
MANY = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    variant=st.sampled_from(["forward", "bwd_data", "bwd_weight"]),
    groups=st.integers(1, 3),
    c=ODD,
    k=ODD,
    ndim=st.integers(1, 3),
    merge=st.sampled_from([1, 2]),
    dtype=st.sampled_from(["fp16", "bf16"]),
)
def test_padded_convolutions_are_right(
    tmp_path: Path, variant: str, groups: int, c: int, k: int, ndim: int, merge: int, dtype: str
) -> None:
    config = {**CONV, "variant": variant, "dtype": dtype, "ndim": ndim,
              "num_groups_to_merge": merge}  # fmt: skip
    sizes = ["D=3", "H=4", "W=5", "Z=1", "Y=2", "X=3"]
    own = ",".join(sizes[3 - ndim : 3] + sizes[6 - ndim :])
    text = f"N=2,G={groups},C={groups * c},K={groups * k},{own}"
    with dispatcher(folder(tmp_path, k=config)) as d:
        choice = d.select(text)
        assert choice.padded == bool(c % 8 or k % 8)
        given = arrays(choice)
        found = d.run(text, *given)
        assert found.shape == stored(choice.tensors[-1] if variant == "forward" else
                                     choice.tensors[0 if variant == "bwd_data" else 1])  # fmt: skip
        assert found.tolist() == expected(choice, given).tolist()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(layout=st.sampled_from(["rcr", "rrr", "crr", "ccc"]), m=ODD, n=ODD, k=ODD,
       op=st.sampled_from(["passthrough", "multiply"]))  # fmt: skip
def test_padded_products_are_right(
    tmp_path: Path, layout: str, m: int, n: int, k: int, op: str
) -> None:
    config = {**GEMM, "layout": layout}
    if op == "multiply":
        config |= {"variant": "multi_d", "num_d": 1, "elementwise_op": op, "layout": f"{layout}r"}
    text = f"M={m},N={n},K={k}"
    with dispatcher(folder(tmp_path, k=config)) as d:
        choice = d.select(text)
        assert choice.padded == bool(n % 8 or k % 8)
        given = arrays(choice)
        assert d.run(text, *given).tolist() == expected(choice, given).tolist()


def test_arrays_are_placed_as_strides_say(tmp_path: Path) -> None:
    """They are handed over with the sizes of their tensors, whatever lies between on the device."""
    text = "M=64,N=64,K=64"
    with dispatcher(folder(tmp_path, k=GEMM)) as d:
        choice = d.select(text)
        given = arrays(choice)
        right = d.run(text, *given)
        assert right.tolist() == expected(choice, given).tolist()
        for more in ("stride_a=72", "stride_c=96", "stride_b=65,stride_c=70"):
            assert d.run(f"{text},{more}", *given).tolist() == right.tolist()


@pytest.mark.parametrize("channels", range(1, 10))
def test_padded_depthwise_convolutions_are_right(tmp_path: Path, channels: int) -> None:
    text = f"N=2,G={channels},C={channels},K={channels},H=5,W=4,Y=3,X=3,pad=1"
    with dispatcher(folder(tmp_path, k=DEPTHWISE)) as d:
        choice = d.select(text)
        assert choice.padded == bool(channels % 4)
        given = arrays(choice)
        assert d.run(text, *given).tolist() == expected(choice, given).tolist()


def test_nothing_is_padded_that_a_kernel_takes(tmp_path: Path) -> None:
    """And where one has to be, the one with the least work."""
    narrow = {**CONV, "vector_b": 2, "vector_c": 2, "vector_a": 2}
    with dispatcher(folder(tmp_path, wide=CONV, narrow=narrow)) as d:
        choice = d.select("N=1,C=6,K=6,H=9,W=9,Y=3,X=3")
        assert (choice.kernel.name, choice.padded, choice.candidates) == ("narrow", False, 1)
        choice = d.select("N=1,C=5,K=6,H=9,W=9,Y=3,X=3")
        assert choice.padded
        assert choice.candidates == 2
        assert d.supported("N=1,C=5,K=6,H=9,W=9,Y=3,X=3") == []


def test_kernels_of_different_things_are_told_apart(tmp_path: Path) -> None:
    place = folder(
        tmp_path, f=CONV, b={**CONV, "variant": "bwd_data"}, h={**CONV, "dtype": "bf16"},
        g={**CONV, "arch": "gfx950"},
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"kernels of gfx942, gfx950: give arch, such as 'gfx942'"):
        dispatcher(place)
    with pytest.raises(UsageError, match=r"no kernel of gfx90a; there are kernels of gfx942"):
        dispatcher(place, arch="gfx90a")
    with dispatcher(place, arch="gfx942") as d:
        with pytest.raises(UsageError, match=r"compute different things of .*: give variant"):
            d.select(CONV_TEXT, dtype="fp16")
        with pytest.raises(UsageError, match="give dtype: bf16, fp16"):
            d.select(CONV_TEXT, "fwd")
        assert d.select(CONV_TEXT, "fwd", dtype="bf16").kernel.name == "h"
        with pytest.raises(UnknownNameError, match="did you mean 'dtype'"):
            d.select(CONV_TEXT, "fwd", dtyp="bf16")
        with pytest.raises(NoKernelError, match=r"has dtype = fp8: there are bf16, fp16"):
            d.select(CONV_TEXT, "fwd", dtype="fp8")


def test_what_no_kernel_takes_is_said_with_reasons(tmp_path: Path) -> None:
    place = folder(tmp_path, d=DEPTHWISE, i={**CONV, "illegal": True})
    with dispatcher(place) as d:
        with pytest.raises(NoKernelError, match="one channel of a group is expected!"):
            d.select("N=1,G=2,C=4,K=4,H=9,W=9,Y=3,X=3")
        with pytest.raises(NoKernelError, match=r"none of 2 kernels .* \(1 break rules"):
            d.select("N=1,C=8,K=8,W=9,X=3")
        with pytest.raises(UsageError, match="not of the form NAME=NUMBER"):
            d.select("large")


def test_bad_arrays_are_one_line(tmp_path: Path) -> None:
    with dispatcher(folder(tmp_path, k=CONV)) as d:
        x, w = arrays(d.select(CONV_TEXT))
        for given, words in (
            ((x,), "1 arrays were given: it reads input, weight"),
            (({"input": x},), "no tensor weight"),
            (({"input": x, "wait": w},), "did you mean 'weight'"),
            ((x.astype(np.float32), w), "input: float32, expected float16 for fp16"),
            ((w, x), r"input: 2x16x3x3x8, expected 2x7x6x2x8"),
            (([1.0], w), "input: list is neither a numpy array nor speaks DLPack"),
        ):
            with pytest.raises((UsageError, UnknownNameError), match=words):
                d.run(CONV_TEXT, *given)
        out = np.zeros((2, 7, 6, 2, 16), np.float16)
        out.flags.writeable = False
        with pytest.raises(UsageError, match="output: the array cannot be written to"):
            d.run(CONV_TEXT, x, w, out=out)
        for scales, said in (
            ({"alpha": 2}, "alpha=2, beta=0"),
            ({"beta": 0.5}, "alpha=1, beta=0.5"),
            ({"alpha": float("nan")}, "alpha=nan, beta=0"),
        ):
            with pytest.raises(UsageError, match=f"{said}: no kernel scales, expected 1 and 0"):
                d.run(CONV_TEXT, x, w, **scales)
        with pytest.raises(UsageError, match="has no streams"):
            d.run(CONV_TEXT, x, w, stream=7)


def test_merged_axes_gaps_and_other_orders_are_taken(tmp_path: Path) -> None:
    with dispatcher(folder(tmp_path, k=CONV)) as d:
        x, w = arrays(d.select(CONV_TEXT))
        plain = d.run(CONV_TEXT, x, w)
        merged = d.run(CONV_TEXT, x.reshape(2, 7, 6, 16), w.reshape(32, 3, 3, 8))
        assert merged.tolist() == plain.tolist()
        spread = np.zeros((2, 14, 6, 2, 8), np.float16)[:, ::2]
        spread[...] = x
        out = np.zeros((2, 7, 6, 32), np.float16, order="F")
        assert d.run(CONV_TEXT, spread, w, out=out) is out
        assert out.reshape(plain.shape).tolist() == plain.tolist()


def test_selecting_opens_no_device(tmp_path: Path, double: Double) -> None:
    """A folder, questions, a fork: the device is opened by the first run, in its process."""
    place = folder(tmp_path, k=CONV)
    with Dispatcher(place, device=double(count=0), opener=OPENER) as d:
        x, w = arrays(d.select(CONV_TEXT))
        assert d.supported(CONV_TEXT) == ["k"]
        with pytest.raises(DeviceError, match="the test double is switched off"):
            d.run(CONV_TEXT, x, w)


def test_importing_touches_no_gpu() -> None:
    import subprocess

    program = (
        "import sys, ckrules.runtime\n"
        "print(sorted(m for m in sys.modules if m.startswith(('hip', 'rocm', 'lightgbm', 'z3'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def _in_child(d: Dispatcher, given: list[Any], pipe: Any) -> None:
    try:
        pipe.send(d.run(CONV_TEXT, *given).tolist())
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")


def _forked(d: Dispatcher, given: list[Any]) -> Any:
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(d, given, theirs))
    child.start()
    assert ours.poll(60)
    found = ours.recv()
    child.join(60)
    assert child.exitcode == 0
    return found


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_opens_its_own_device(tmp_path: Path, double: Double) -> None:
    """What was selected before the fork is used after it; a device that was opened is not."""
    place = folder(tmp_path, k=CONV)
    with dispatcher(place, double()) as d, dispatcher(place, double(), isolated=True) as i:
        given = arrays(d.select(CONV_TEXT))
        child = _forked(d, given)
        own = d.run(CONV_TEXT, *given).tolist()
        assert child == own
        assert _forked(d, given).startswith("DeviceError: the device was opened before this")
        assert i.run(CONV_TEXT, *given).tolist() == own
        assert _forked(i, given) == own
        assert i.run(CONV_TEXT, *given).tolist() == own


def test_threads_share_a_dispatcher(tmp_path: Path) -> None:
    texts = [f"N=1,C={8 * i},K=8,H=5,W=5,Y=3,X=3" for i in range(1, 9)]
    with dispatcher(folder(tmp_path, k=CONV)) as d:
        wanted = {}
        for text in texts:
            given = arrays(d.select(text))
            wanted[text] = (given, expected(d.select(text), given).tolist())
        d.refresh()
        wrong: list[str] = []

        def work() -> None:
            for text, (given, right) in wanted.items():
                if d.run(text, *given).tolist() != right:
                    wrong.append(text)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert wrong == []


@pytest.mark.whole
def test_a_kernel_that_faults_costs_the_call(tmp_path: Path, double: Double) -> None:
    place = folder(
        tmp_path, good=CONV, dead={**CONV, "dtype": "bf16"}, slow={**CONV, "dtype": "fp32"}
    )
    name = double({"dead": "crash", "slow": "hang"})
    with Dispatcher(place, device=name, opener=OPENER, isolated=True, timeout=600) as d:
        good = arrays(d.select(CONV_TEXT, dtype="fp16"))
        bad = arrays(d.select(CONV_TEXT, dtype="bf16"))
        before = d.run(CONV_TEXT, *good, dtype="fp16")
        with pytest.raises(KernelFaultError, match=r"dead on N=2.*SIGABRT.*Memory access fault"):
            d.run(CONV_TEXT, *bad, dtype="bf16")
        assert d.run(CONV_TEXT, *good, dtype="fp16").tolist() == before.tolist()
    with Dispatcher(place, device=name, opener=OPENER, isolated=True, timeout=3) as d:
        bad = arrays(d.select(CONV_TEXT, dtype="fp32"))
        with pytest.raises(KernelFaultError, match="not done after 3 s"):
            d.run(CONV_TEXT, *bad, dtype="fp32")


def test_what_a_worker_cannot_do_is_said(tmp_path: Path, double: Double) -> None:
    place = folder(tmp_path, k=CONV)
    with pytest.raises(UsageError, match="cannot be given to a worker"):
        Dispatcher(place, device=AnyDevice(), isolated=True, opener=OPENER)
    with pytest.raises(UnknownNameError, match="did you mean 'hip'"):
        Dispatcher(place, device="hpi", opener=OPENER)
    with Dispatcher(place, device=double(count=0), isolated=True, opener=OPENER) as d:
        given = arrays(d.select(CONV_TEXT))
        with pytest.raises(DeviceError, match="the test double is switched off"):
            d.run(CONV_TEXT, *given)


def test_kernels_of_another_gpu_are_not_run(tmp_path: Path) -> None:
    from dataclasses import replace

    device = AnyDevice()
    device.info = replace(device.info, arch="gfx90a")
    with dispatcher(folder(tmp_path, k=CONV), device) as d:
        given = arrays(d.select(CONV_TEXT))
        with pytest.raises(DeviceError, match="is a gfx90a, and the kernels are for gfx942"):
            d.run(CONV_TEXT, *given)
    assert not device.opened


def test_memory_is_kept_and_given_back(tmp_path: Path) -> None:
    device = AnyDevice()
    with dispatcher(folder(tmp_path, k={**CONV, "variant": "bwd_weight", "two_stage": True}),
                    device) as d:  # fmt: skip
        given = arrays(d.select(CONV_TEXT))
        d.run(CONV_TEXT, *given)
        places = set(device.memory)
        d.run(CONV_TEXT, *given)
        assert set(device.memory) == places
        assert len(places) == 4  # two inputs, the result, a workspace
        larger = CONV_TEXT.replace("N=2", "N=4")
        d.run(larger, *arrays(d.select(larger)))
        assert len(device.memory) == 4
    assert not device.opened  # and its double saw that nothing was left


def test_a_missing_build_is_said(tmp_path: Path) -> None:
    place = folder(tmp_path, k=CONV)
    (place / "k.hsaco").unlink()
    with pytest.raises(UsageError, match="none of 1 kernels is built: ckrules build"):
        dispatcher(place)


def test_the_working_folder_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries and results are opened later than a dispatcher is made."""
    folder(tmp_path / "out", k=CONV)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with dispatcher(Path("out")) as d, dispatcher(Path("out"), results="times.sqlite") as other:
        monkeypatch.chdir(tmp_path / "elsewhere")
        given = arrays(d.select(CONV_TEXT))
        assert d.run(CONV_TEXT, *given, record=True) is not None
        other.run(CONV_TEXT, *given, record=True)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert sorted(p.name for p in tmp_path.glob("**/*.sqlite")) == [FILE, "times.sqlite"]


SCRIPT = """
print("begun")
import sys
import numpy as np
from pathlib import Path
from ckrules.runtime import Dispatcher

place, device, opener, text = {given!r}
with Dispatcher(Path(place), device=device, opener=opener, isolated=True) as d:
    given = [
        np.ones([t.shape[i] for i in t.order], np.float16)
        for t in d.select(text).tensors if t.direction == "in"
    ]
    print(d.run(text, *given).max())
"""


@pytest.mark.parametrize("by_stdin", [False, True])
def test_a_worker_does_not_run_the_script_again(
    tmp_path: Path, double: Double, by_stdin: bool
) -> None:
    """Neither a script without a guard, nor what comes from the standard input."""
    import os
    import subprocess

    given = (str(folder(tmp_path / "out", k=CONV)), double(), OPENER, CONV_TEXT)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(given=given))
    done = subprocess.run(
        [sys.executable, "-" if by_stdin else str(script)],
        input=script.read_text() if by_stdin else "",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    begun, total = done.stdout.split()
    assert begun == "begun"
    assert float(total) > 0


def test_an_interrupted_call_does_not_answer_the_next(tmp_path: Path, double: Double) -> None:
    import signal

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    place = folder(tmp_path, good=CONV, slow={**CONV, "dtype": "fp32"})
    name = double({"slow": "hang"})
    with Dispatcher(place, device=name, opener=OPENER, isolated=True, timeout=20) as d:
        good = arrays(d.select(CONV_TEXT, dtype="fp16"))
        bad = arrays(d.select(CONV_TEXT, dtype="fp32"))
        before = d.run(CONV_TEXT, *good, dtype="fp16")
        usual = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            with pytest.raises(KeyboardInterrupt):
                d.run(CONV_TEXT, *bad, dtype="fp32")
        finally:
            signal.signal(signal.SIGALRM, usual)
        assert d.run(CONV_TEXT, *good, dtype="fp16").tolist() == before.tolist()
