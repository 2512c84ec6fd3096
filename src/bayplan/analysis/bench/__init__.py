"""Benchmarks: workloads as data (`workloads`), clusters (`building`), what is measured (`measure`)."""
