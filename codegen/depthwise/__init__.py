"""C++ of depthwise convolutions; all but the kernel's header is that of `ckrules.codegen.conv`."""
