"""Benchmarks: workloads as data (`workloads`), the clusters they stand for (`building`), and what is measured (`measure`)."""
