"""Random inputs by the thousand, checked against an independent answer."""
