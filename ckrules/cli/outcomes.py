"""The result of a run, in the keys of upstream's gpu_helper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ckrules.device.jobs import RunOutcome


def outcome_json(outcome: RunOutcome, flops: int, *, validated: bool = True) -> dict[str, Any]:
    """``execution``, ``validation`` and ``status``, each where something is known of it.

    Args:
        flops: Operations of the problem, as far as its results are wanted.
        validated: Whether to say how the result compares.
    """
    out: dict[str, Any] = {}
    if outcome.time_ms is not None:
        out["execution"] = {
            "time_ms": outcome.time_ms,
            "tflops": flops / outcome.time_ms / 1e9 if outcome.time_ms else None,
            "flops": flops,
        }
    if validated and outcome.elements is not None and outcome.wrong is not None:
        right = outcome.elements - outcome.wrong
        out["validation"] = {
            "accuracy": 100.0 * right / outcome.elements,
            "max_error": outcome.max_rel,
            "correct_elements": right,
            "total_elements": outcome.elements,
        }
    out["status"] = "success" if outcome.status == "ok" else str(outcome.status)
    if outcome.status != "ok":
        out["error"] = outcome.detail or outcome.where
    return out
