"""What a simulation came to: the run as typed data, as columns, in files, and beside other runs."""
