"""What GEMMs with scales cost."""
