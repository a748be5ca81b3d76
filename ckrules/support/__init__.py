"""What every room uses: errors, TOML with places, atomic files, tables, user folders."""
