"""What mkdocs needs besides docs/: pages of rules, of the tree's top, and of the library.

A hook of mkdocs (mkdocs.yml), which calls its functions by their names.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ckrules
from ckrules.output import rule_docs

ROOT = Path(__file__).resolve().parent.parent
#: Files at the top of the tree that become pages beside those of docs/.
TOP = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
#: What the reference has besides the names of `ckrules`: packages that programs import.
MODULES = {
    "Kernels": ("ckrules.kernels.books", "ckrules.kernels.selection", "ckrules.kernels.config",
                "ckrules.kernels.names"),
    "Predicted times": ("ckrules.ranking.best", "ckrules.ranking.ranker",
                        "ckrules.ranking.search"),
    "Pictures": ("ckrules.pictures.counting", "ckrules.pictures.sampled",
                 "ckrules.pictures.times", "ckrules.pictures.measured",
                 "ckrules.pictures.drawing", "ckrules.pictures.shapes"),
    "Kernels at run time": ("ckrules.runtime",),
    "Other tuners": ("ckrules.adapters.kernel_tuner", "ckrules.adapters.optuna_sampler"),
}  # fmt: skip
_OUTSIDE = re.compile(r"\]\(\.\./(" + "|".join(map(re.escape, TOP)) + r")(#[^)]*)?\)")
_DOCS = re.compile(r"\]\(docs/([^)]+)\)")


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that docs/ does not have."""
    from mkdocs.structure.files import File

    for name in TOP:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=_DOCS.sub(r"](\1)", text)))
    files.append(File.generated(config, "api.md", content=reference()))
    for name, text in rule_docs.pages().items():
        if old := files.get_file_from_path(f"rules/{name}"):  # of an earlier `make docs`
            files.remove(old)
        files.append(File.generated(config, f"rules/{name}", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leads links to files at the top of the tree to their pages."""
    return _OUTSIDE.sub(r"](\1\2)", markdown)


def reference() -> str:
    """The page of the library: its names, then the modules that programs import.

    >>> "::: ckrules.engine.space.Space" in reference()
    True
    """
    out = ["# The library", "", "Made from the docstrings, whose examples the tests run.", ""]
    out += ["## Names of `ckrules`", ""]
    for name in ckrules.__all__:
        if not name.startswith("__"):
            value = getattr(ckrules, name)
            home = getattr(value, "__module__", "ckrules")
            out += [f"::: {home}.{getattr(value, '__name__', name)}", *_options(3)]
    for title, modules in MODULES.items():
        out += [f"## {title}", ""]
        for module in modules:
            out += [f"::: {module}", *_options(3)]
    return "\n".join(out) + "\n"


def _options(level: int) -> list[str]:
    return ["    options:", f"      heading_level: {level}", ""]
