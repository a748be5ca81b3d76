"""A family of kernels that a plug-in brings, with a folder of templates outside the package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ckrules.codegen.generate import MANIFEST
from tests.codegen.points import FORWARD

ROOT = Path(__file__).resolve().parents[2]
FAMILY = '''
from pathlib import Path

from ckrules.codegen.model import KernelModel
from ckrules.engine.expr.variables import Enum, Int
from ckrules.engine.rules.book import Vocabulary, quantity_in
from ckrules.kernels.family import Family
from ckrules.kernels.parts import ParsedName


class Words(Vocabulary):
    @quantity_in("bytes")
    def lds_bytes(self):
        """LDS of a workgroup."""
        return self.rows * 64


class Naming:
    prefix = "copy_"

    def parse(self, text):
        return ParsedName({"variant": "copy_rows", "rows": int(text.removeprefix("copy_"))})

    def format(self, point, spelling=None):
        return f"copy_{point['rows']}"

    def span(self, text, name):
        return None

    def without_defaults(self, text):
        return text

    def rule_set_spelling(self, point):
        return {}


class Generation:
    templates = (Path(__file__).parent / "copy_templates",)
    quantities = ("lds_bytes", "vgprs")
    headers = ()
    runtime = ()
    library = "copies"

    def kernel(self, point, name, ck, quantities):
        return KernelModel(name, ck, point, quantities)

    def files(self, kernel):
        yield f"{kernel.name}.cpp", "copy.cpp.j2"

    def covers(self, kernels):
        yield "all_copies.hpp", "all.hpp.j2", {"count": len(kernels)}

    def probe(self, ck):
        return None


class Copy(Family):
    name, title, variants = "copy", "copies", ("copy_rows",)
    naming = Naming()
    generation = Generation()

    def vocabulary(self, ck, gpus):
        rows = Int("rows", (1, 2, 4), lo=1, hi=64)
        variant, arch = Enum("variant", self.variants), Enum("arch", [g.name for g in gpus])
        words = Words([variant, arch, rows])
        words.ck = ck
        words.baseline = {"variant": "copy_rows", "arch": "gfx942", "rows": 1}
        return words

    def rules(self):
        return []


class Bare(Copy):
    name, variants = "bare", ("bare_rows",)
    generation = None
'''
TEMPLATES = {
    "copy.cpp.j2": '{% include "banner.j2" %}\nint rows = {{ k.point.rows }};\n'
    "int lds = {{ k.resources.lds_bytes }}; // {{ k.resources.vgprs }}\n",
    "all.hpp.j2": "{% for k in kernels %}\n// {{ k.name }} of {{ count }}\n{% endfor %}\n",
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A distribution with two families."""
    place = tmp_path / "site"
    info = place / "copies-1.dist-info"
    (place / "copy_templates").mkdir(parents=True)
    info.mkdir()
    (place / "copies.py").write_text(FAMILY)
    for name, text in TEMPLATES.items():
        (place / "copy_templates" / name).write_text(text)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: copies\nVersion: 1\n")
    lines = ["[ckrules.families]", "copy = copies:Copy", "bare = copies:Bare", ""]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return place


def generate(site: Path, *points: dict[str, object]) -> subprocess.CompletedProcess[str]:
    """`ckrules generate` in a process of its own, since families are looked for once."""
    out = site.parent / "out"
    return subprocess.run(
        [sys.executable, "-m", "ckrules", "generate", "-", "-o", str(out), "--ck", "2025.11"],
        input="\n".join(map(json.dumps, points)),
        env={**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
    )


def manifest(site: Path) -> list[dict[str, object]]:
    """The lines of what was generated."""
    return [json.loads(line) for line in (site.parent / "out" / MANIFEST).open()]


COPY: dict[str, object] = {"variant": "copy_rows", "arch": "gfx942", "rows": 2}


def test_a_plug_in_brings_templates_that_are_searched_beside_ours(site: Path) -> None:
    done = generate(site, COPY, {**COPY, "rows": 4}, FORWARD)
    assert done.returncode == 0, done.stderr
    out = site.parent / "out"
    banner, stamp, *rest = (out / "copy_2.cpp").read_text().splitlines()
    assert banner == f"// {json.dumps(COPY)}"
    assert stamp.endswith(", copy_2")
    assert rest == ["int rows = 2;", "int lds = 128; // None"]
    assert (out / "all_copies.hpp").read_text() == "// copy_2 of 2\n// copy_4 of 2\n"
    assert "  copy_4.o" in (out / "Makefile").read_text()
    registered = out / "dispatcher_wrappers" / "register_all_grouped_conv_kernels.hpp"
    assert "grouped_conv_kernel_count() { return 1; }" in registered.read_text()
    assert [(k["family"], k["lds_bytes"]) for k in manifest(site)][:2] == [
        ("copy", 128),
        ("copy", 256),
    ]
    assert manifest(site)[2]["family"] == "conv"


def test_a_family_without_templates_is_said_in_one_line(site: Path) -> None:
    done = generate(site, {**COPY, "variant": "bare_rows"})
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.endswith("the family bare has no templates to generate kernels from")
    assert not (site.parent / "out").exists()


@pytest.mark.parametrize("changed", ["copies.py", "copy_templates/all.hpp.j2"])
def test_the_stamp_covers_what_a_plug_in_declares(site: Path, changed: str) -> None:
    seen = set()
    for text in ("", "\n", ""):
        file = site / changed
        before = file.read_text()
        file.write_text(before + text)
        assert generate(site, COPY).returncode == 0
        file.write_text(before)
        seen.add(str(manifest(site)[0]["rules"]))
    assert len(seen) == 2
