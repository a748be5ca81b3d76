"""A kernel configuration: its family, fields, name, books and reading into a point."""
