"""A published language model with babygpt's rotation."""
