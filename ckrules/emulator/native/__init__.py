"""Native code made from the meanings of instructions."""
