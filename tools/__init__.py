"""What makes and checks the course, and drives it in a headless browser."""
