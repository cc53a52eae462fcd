"""The course that is taught with babygpt: exercises, museum of bugs, claims of the notes, studies."""
