"""`ckrules check`: settings, diagnostics, baseline, suppressions, repairs and report formats."""
