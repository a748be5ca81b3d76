"""Code objects executed on the CPU, instruction by instruction, as an AMD GPU would.

LLVM decodes the bytes; this package gives each instruction its meaning, for the same wave of many
blocks at once. It knows nothing of kernel families: ``ckrules.device.cpu`` makes a device of it.
"""
