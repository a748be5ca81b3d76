"""Say what this machine can build and run, and how to get what is missing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ckrules.build.doctor import Finding

EPILOG = """\b
Exit codes: 0 kernels of some CK release can be compiled, 1 none can.
"""


@click.command(epilog=EPILOG)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(as_json: bool) -> int:
    """Say what this machine can build and run, and how to get what is missing."""
    from ckrules.build import doctor

    findings = doctor.examine()
    for finding in findings:
        click.echo(json.dumps(finding.to_dict()) if as_json else _line(finding))
    return 0 if doctor.can_build(findings) else 1


def _line(finding: Finding) -> str:
    mark = "ok      " if finding.ok else ("missing " if finding.needed else "absent  ")
    line = f"{mark}{finding.what:<22}{finding.detail}"
    return line if finding.ok or not finding.remedy else f"{line}\n{'':<30}get it: {finding.remedy}"
