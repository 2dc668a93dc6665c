// Gives way to the first test of this floor.
