"""Studies, most of which train models for minutes, a file each; their figures, and what they share."""
