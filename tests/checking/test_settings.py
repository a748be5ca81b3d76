"""Settings: where they come from, what they do, and what is said about faulty ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import ILLEGAL, legal, run, write


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a.json", [legal(arch=None, tile_m=96), legal(arch=None)])
    return tmp_path


def codes(*words: str) -> list[str]:
    return [
        json.loads(x)["code"] for x in run("check", "--format", "jsonl", *words).stdout.splitlines()
    ]


def test_the_nearest_file_holds(folder: Path) -> None:
    write(folder, "ckrules.toml", 'arch = "gfx942"\n')
    inner = folder / "inner"
    inner.mkdir()
    write(inner, "pyproject.toml", '[tool.ckrules]\narch = "gfx950"\n')
    write(inner, "a.json", legal(arch=None))
    result = run("check", "--verdicts", "a.json", "inner/a.json")
    archs = [json.loads(v)["arch"] for v in result.stdout.splitlines()]
    assert archs == ["gfx942", "gfx942", "gfx950"]


def test_settings_and_baselines_with_a_byte_order_mark(folder: Path) -> None:
    """Editors of Windows write one; configurations were read with it."""
    write(folder, "ckrules.toml", '\ufeffarch = "gfx942"\nbaseline = "known.json"\n')
    assert run("check", "a.json").exit_code == 1
    assert run("check", "--write-baseline", "a.json").exit_code == 0
    known = folder / "known.json"
    known.write_text("\ufeff" + known.read_text())
    assert run("check", "a.json").exit_code == 0


@pytest.mark.parametrize(
    "text",
    [
        '[project]\ndependencies = ["ckrules"]\n',
        '[project]\nname = "ckrules"\n# not [tool.ckrules]\n',
        "ckrules = broken\n",
    ],
)
def test_a_pyproject_without_settings_does_not_hide_those_above(folder: Path, text: str) -> None:
    write(folder, "ckrules.toml", 'arch = "gfx942"\n')
    inner = folder / "inner"
    inner.mkdir()
    write(inner, "pyproject.toml", text)
    write(inner, "a.json", legal(arch=None))
    assert 'arch = "gfx942"  # ckrules.toml' in run("check", "--show-settings", "inner").stdout
    assert run("check", "inner/a.json").exit_code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.ckrules]\narch = gfx942\n", "pyproject.toml:2:8: not valid TOML: "),
        ("[tool]\nckrules = 3\n", "pyproject.toml:2:11: tool.ckrules is not a table"),
        ('[tool]\nckrules = {arch = "gfx942", "b" = 1}\n', "pyproject.toml:2:29: unknown"),
    ],
)
def test_faulty_settings_in_a_pyproject(folder: Path, text: str, said: str) -> None:
    write(folder, "pyproject.toml", text)
    result = run("check", "a.json")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert said in result.stderr


@pytest.mark.parametrize(
    ("wanted", "right"),
    [
        (">=0.1,<99", True),
        ("~=0.1", True),
        ("0.1.0", True),
        (">=0.1.0rc1", True),
        ("!=0.1.*", False),
        ("0.1.0rc1", False),
    ],
)
def test_required_versions_are_those_of_packages(folder: Path, wanted: str, right: bool) -> None:
    write(folder, "ckrules.toml", f'arch = "gfx942"\nrequired-version = "{wanted}"\n')
    result = run("check", "a.json", "--exit-zero")
    assert result.exit_code == (0 if right else 2)
    assert right or f"requires ckrules {wanted}, this is" in result.stderr


def test_command_line_before_environment_before_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "ckrules.toml", 'arch = "gfx942"\n')

    def arch(*words: str) -> str:
        return str(
            json.loads(run("check", "--verdicts", *words, "a.json").stdout.splitlines()[0])["arch"]
        )

    assert arch() == "gfx942"
    monkeypatch.setenv("CKRULES_ARCH", "gfx950")
    assert arch() == "gfx950"
    assert arch("--arch", "gfx90a") == "gfx90a"
    monkeypatch.delenv("CKRULES_ARCH")
    assert run("check", "--isolated", "a.json").exit_code == 2


def test_show_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "ckrules.toml", 'arch = "gfx942"\n[severity]\nTILE001 = "note"\n')
    monkeypatch.setenv("CKRULES_IGNORE", "CFG001,LDS")
    lines = run("check", "--show-settings", "--ck", "2026.06").stdout.splitlines()
    assert 'arch = "gfx942"  # ckrules.toml' in lines
    assert 'ck = "2026.06"  # command line' in lines
    assert 'ignore = ["CFG001", "LDS"]  # CKRULES_IGNORE' in lines
    assert 'severity = {"TILE001" = "note"}  # ckrules.toml' in lines
    assert "baseline = not set  # default" in lines


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('\narhc = "x"\n', "ckrules.toml:2:1: unknown setting 'arhc': did you mean 'arch'?"),
        ("select = 3\n", "ckrules.toml:1:1: select is not a list of strings"),
        ("arch = 3\n", "ckrules.toml:1:1: arch is not a string"),
        ("\n[severity]\nTILE001 = 3\n", "ckrules.toml:3:1: severity of TILE001 is not a string"),
        ("severity = 3\n", "ckrules.toml:1:1: severity is not a table"),
        (
            "[per-file-ignores]\na = 1\n",
            "ckrules.toml:2:1: per-file-ignores of a is not a list of strings",
        ),
        ("a b\n", "ckrules.toml:1:3: not valid TOML: "),
        ('arch = "gfx943"\n', "unknown arch 'gfx943'"),
        ('ignore = ["TILE999"]\n', "unknown code 'TILE999': did you mean TILE"),
        ('[severity]\nTILE001 = "bad"\n', "severity of TILE001: 'bad' is not one of"),
        ('required-version = ">=99"\n', "requires ckrules >=99, this is"),
        ('required-version = "new"\n', "is not of the form"),
        ('arch = "gfx942"\n[per-file-ignores]\n"!" = ["ALL"]\n', "invalid git pattern: '!'"),
        ('tile-reading = "nmk"\n', "unknown tile-reading 'nmk'"),
    ],
)
def test_faulty_settings_are_one_clear_line(folder: Path, text: str, said: str) -> None:
    write(folder, "ckrules.toml", text)
    result = run("check", "a.json")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert said in result.stderr


def test_faulty_settings_of_another_folder(folder: Path) -> None:
    """They are not replaced by those of the current folder, which nobody would notice."""
    inner = folder / "inner"
    inner.mkdir()
    write(inner, "ckrules.toml", 'select = ["NOPE001"]\n')
    write(inner, "a.json", legal())
    result = run("check", "inner/a.json")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "inner/ckrules.toml:1:11: unknown code 'NOPE001'" in result.stderr


def test_codes_are_selected_and_ignored(folder: Path) -> None:
    on = ["--arch", "gfx942", "a.json"]
    assert "TILE001" in codes(*on)
    assert "TILE001" not in codes(*on, "--ignore", "TILE")
    assert codes(*on, "--select", "TILE") == ["TILE001"]
    assert codes(*on, "--select", "LDS", "--extend-select", "TILE001") == ["TILE001"]
    assert run("check", *on, "--ignore", "TILE,VEC").exit_code == 0
    assert run("check", *on, "--exit-zero").exit_code == 0


@pytest.mark.parametrize("word", ["ALL", "TILE", "TILE001"])
def test_all_and_families_are_ignored(
    word: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = ["--arch", "gfx942", "--select", "TILE", "a.json"]
    assert codes(*on, "--ignore", word) == []
    monkeypatch.setenv("CKRULES_IGNORE", word)
    assert codes(*on) == []


@pytest.mark.parametrize(
    ("table", "severity"),
    [
        ('ALL = "note"', "note"),
        ('ALL = "note"\nTILE = "warning"', "warning"),
        ('TILE001 = "note"\nTILE = "warning"\nALL = "error"', "note"),
        ('LDS = "note"', "error"),
    ],
)
def test_the_most_exact_severity_holds(folder: Path, table: str, severity: str) -> None:
    write(folder, "ckrules.toml", f'arch = "gfx942"\nselect = ["TILE"]\n[severity]\n{table}\n')
    found = json.loads(run("check", "--format", "jsonl", "a.json").stdout)
    assert (found["code"], found["severity"]) == ("TILE001", severity)


def test_severities(folder: Path) -> None:
    write(
        folder,
        "ckrules.toml",
        'arch = "gfx942"\nselect = ["TILE001"]\n[severity]\nTILE001 = "note"\n',
    )
    result = run("check", "a.json")
    assert result.exit_code == 0
    assert "TILE001 compile (note): the waves do not cover" in result.stdout


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("a.json", []),
        ("*.json", []),
        ("a.json#/0", []),
        ("a.json#/1", ["TILE001"]),
        ("b.json", ["TILE001"]),
        ("c/**", ["TILE001"]),
    ],
)
def test_ignores_of_files_and_parts_of_them(folder: Path, pattern: str, left: list[str]) -> None:
    text = f'arch = "gfx942"\nselect = ["TILE"]\n[per-file-ignores]\n"{pattern}" = ["TILE001"]\n'
    write(folder, "ckrules.toml", text)
    assert codes("a.json") == left


def test_include_and_exclude(folder: Path) -> None:
    write(folder, "ckrules.toml", 'arch = "gfx942"\ninclude = ["*.json"]\nexclude = ["old"]\n')
    (folder / "old").mkdir()
    write(folder / "old", "b.json", legal(tile_m=96))
    assert run("check", "--show-files", ".").stdout == "a.json\n"
    named = ["old/b.json", "--allow-empty"]
    assert run("check", *named).exit_code == 1
    assert run("check", *named, "--force-exclude").exit_code == 0


def test_patterns_are_those_of_gitignore(folder: Path) -> None:
    lines = ['arch = "gfx942"', 'include = ["*.json", "!b.json"]', 'exclude = ["/old/", "c?"]']
    write(folder, "ckrules.toml", "\n".join(lines))
    for name in ("old", "new", "new/old", "new/c1"):
        (folder / name).mkdir()
        write(folder / name, "x.json", legal())
        write(folder / name, "b.json", legal())
    shown = run("check", "--show-files", ".").stdout.splitlines()
    assert shown == ["a.json", "new/x.json", "new/old/x.json"]


def test_patterns_in_a_folder_elsewhere(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("build")  # a folder of that name is excluded, but not above
    inner = other / "configs" / "forward"
    inner.mkdir(parents=True)
    path = write(inner, "a.json", legal())
    (other / "build").mkdir()
    write(other / "build", "b.ck.json", legal())
    assert run("check", "--show-files", str(other)).stdout == f"{path}\n"


def test_arch_paths_are_relative_to_the_settings(folder: Path) -> None:
    import ckrules.arch

    source = Path(ckrules.arch.__file__).parent / "data" / "gfx942.toml"
    inner = folder / "gpus"
    inner.mkdir()
    text = source.read_text().replace('"gfx942"', '"gfx942x"')
    write(inner, "gfx942x.toml", text)
    write(folder, "ckrules.toml", 'arch-paths = ["gpus"]\n')
    result = run("check", "--arch", "gfx942x", "a.json")
    assert result.exit_code == 1, result.stderr


def test_names_use_the_settings_of_this_folder(folder: Path) -> None:
    write(folder, "ckrules.toml", 'arch = "gfx942"\n')
    assert run("check", ILLEGAL).exit_code == 1
