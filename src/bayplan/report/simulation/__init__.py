"""One simulated run: tables in the terminal, an HTML page, Parquet files."""
