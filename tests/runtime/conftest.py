"""The fixture of the reference device."""

from tests.device.conftest import double

__all__ = ["double"]
