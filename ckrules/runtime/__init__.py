"""Built kernels at run time: which supports a problem, which is fastest, and running it."""

from ckrules.runtime.choosing import Choice, Source
from ckrules.runtime.dispatcher import Dispatcher
from ckrules.runtime.errors import KernelFaultError, NoKernelError

__all__ = ["Choice", "Dispatcher", "KernelFaultError", "NoKernelError", "Source"]
