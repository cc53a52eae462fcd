"""Explorers, one for each idea: controls, a measurement, a drawing."""
