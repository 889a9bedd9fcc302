"""What keeps the tests in order: mutants, second times, and workloads with faults."""
