"""The course in a real browser: for tests, benchmarks and screenshots."""
