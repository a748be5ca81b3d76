"""Tests of the device package; reference_device is the test double."""
