"""What each instruction does, by groups of the ISA manuals."""
