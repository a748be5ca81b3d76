"""Drop-ins for other generators: their functions and classes, answered by rule books.

`ckrules.compat.tile_engine` and `ckrules.compat.tile_engine_preshuffle` have the validation
functions of upstream's tile_engine, `ckrules.compat.dispatcher` the dispatcher's ``ArchFilter``,
`ckrules.compat.aiter` a filter for the instances of aiter's generators.
By default the profile ``legal`` answers: what compiles, launches and computes right. A profile of
upstream's own checks gives upstream's answers.
"""
