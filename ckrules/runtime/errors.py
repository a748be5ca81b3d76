"""What running kernels raises beside the errors of devices."""

from __future__ import annotations

from ckrules.device.interface import DeviceError
from ckrules.support.errors import UsageError


class NoKernelError(UsageError):
    """No built kernel takes a problem, not even a padded one; the message says why."""


class KernelFaultError(DeviceError):
    """A kernel ended its worker process, or took longer than the limit."""
