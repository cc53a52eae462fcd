"""Museum of bugs: models with one planted bug each, and the invariants that reveal it."""
