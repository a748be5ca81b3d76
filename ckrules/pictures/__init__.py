"""Pictures of spaces, predictions and measurements: what they show, and how they are drawn.

A picture is plain data (`ckrules.pictures.shapes`); the other modules compute it from a space, a
ranking or measurements, and `ckrules.pictures.drawing` makes a file of it with matplotlib, which
is imported there and nowhere else.
"""
