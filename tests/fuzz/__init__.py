"""Random inputs by the thousand, held against an independent answer."""
