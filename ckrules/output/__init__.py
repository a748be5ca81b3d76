"""Points, counts, tables and pages as text, CSV, JSON and Parquet."""
