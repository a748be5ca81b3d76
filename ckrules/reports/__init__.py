"""Reports: how verdicts, points, rules and GPUs are shown; one module a form."""
