"""Say what this machine can build and run, and how to get what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ckrules.cli.formats import TEXT, output_options
from ckrules.cli.output import text_output
from ckrules.support.visible import json_text, visible_lines

if TYPE_CHECKING:
    from ckrules.device.doctor import Component

GROUP = "build"


@click.command()
@output_options(TEXT)
def command(form: str, output: str | None) -> int:
    """Say what this machine can build and run, and how to get what is missing."""
    from ckrules.device import doctor

    findings = doctor.examine()
    with text_output(output) as stream:
        if form == "json":
            stream.write(json_text([f.to_dict() for f in findings], indent=1) + "\n")
        else:
            stream.writelines(f"{visible_lines(_line(finding))}\n" for finding in findings)
    return 0 if doctor.can_build(findings) else 1


def _line(finding: Component) -> str:
    mark = "ok      " if finding.ok else ("missing " if finding.needed else "absent  ")
    line = f"{mark}{finding.what:<22}{finding.detail}"
    return line if finding.ok or not finding.remedy else f"{line}\n{'':<30}get it: {finding.remedy}"
