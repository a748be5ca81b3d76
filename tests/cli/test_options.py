"""One option, one meaning: the same name has the same help in every command."""

from __future__ import annotations

from collections import defaultdict

import click

from ckrules.cli.group import cli

#: Names whose meaning follows from what the command makes or looks at.
OWN = {
    "--keep": "fields, or variables",
    "--artifact": "what is built, or shown",
    "--arch": "GPUs that are selected, or those of configurations that name none",
    "--select": "codes of rules, or of lint",
    "--ignore": "codes of rules, or of lint",
    "--limit": "what is counted: points, fixes, configurations",
    "--output": "a file, or the folder of generate",
    "--format": "the default depends on the terminal for points",
    "--shard": "of a list, or of a count",
    "--problem": "a problem to run, or to ask about",
    "--problems": "a file of problems",
    "--variant": "one variant, or several",
    "--where": "of the part that is selected, drawn from, or of a file's space",
    "--seed": "random, or 0",
    "--timeout": "of a solver, a compiler, a GPU",
    "--jobs": "compilers at once",
    "--ck": "CK headers",
    "--ck-include": "whose version counts, or what is compiled",
    "--compiler": "a compiler",
    "--family": "one kind of kernel, or several whose kernels are compiled in turn",
    "--device": "where kernels run, or candidates are measured",
    "--dir": "the folder of kernels that are named, or made",
    "--warmup": "times of one kernel, or of many that are compared",
    "--repeat": "times of one kernel, or of many that are compared",
    "--results": "where results go, or are shown from",
    "--retry": "what is done again: runs, or builds",
    "--folds": "figures, or figures beside a model",
    "--set": "of the space, or of the one kernel that is meant",
    "--index": "the first GPU, or the first that fits",
}


def _options() -> dict[str, dict[str, list[str]]]:
    """The commands by option and help."""
    context = cli.make_context("ckrules", [], resilient_parsing=True)
    out: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        for param in command.params:
            if isinstance(param, click.Option):
                long = max(param.opts, key=len)
                out[long][param.help or ""].append(name)
    return out


def test_the_same_option_has_the_same_help() -> None:
    differ = {o: dict(h) for o, h in _options().items() if len(h) > 1 and o not in OWN}
    assert differ == {}


def test_what_may_differ_does() -> None:
    found = _options()
    assert [o for o in OWN if len(found[o]) < 2] == []


def test_short_names_belong_to_one_long_name() -> None:
    context = cli.make_context("ckrules", [], resilient_parsing=True)
    longs: dict[str, set[str]] = defaultdict(set)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        for param in command.params:
            for short in (o for o in param.opts if isinstance(param, click.Option) and len(o) == 2):
                longs[short].add(max(param.opts, key=len))
    assert {k: v for k, v in longs.items() if len(v) > 1} == {}


def test_what_is_shown_can_be_json_and_go_to_a_file() -> None:
    """Every command that prints an answer takes --format with json, and -o."""
    found = _options()
    formats = {c for commands in found["--format"].values() for c in commands}
    outputs = {c for commands in found["--output"].values() for c in commands}
    # Text alone, files, JSON alone, a protocol, or pages.
    plain = {"help", "build", "docs", "validate", "run", "train", "lsp", "gpu-helper"}
    plain |= {"explore", "report"}
    plain.add("space")  # hands its options on
    context = cli.make_context("ckrules", [], resilient_parsing=True)
    assert set(cli.list_commands(context)) - formats - plain - {"generate"} == set()
    assert formats - outputs == set()


def test_limits_have_one_name() -> None:
    """How many are wanted is -n or --limit, never one of them alone."""
    context = cli.make_context("ckrules", [], resilient_parsing=True)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        for param in command.params:
            assert ("-n" in param.opts) == ("--limit" in param.opts), name
