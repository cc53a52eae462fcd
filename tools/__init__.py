"""Tools that make and check the course, and drive it in a headless browser."""
