"""Reports: one page on a space, a catalog, results, a certification or a difference.

`ckrules.report.page` says what a report is made of and writes it; each other module makes the
report of one kind of thing.
"""
