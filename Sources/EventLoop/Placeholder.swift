// Gives way to the first file of this floor.
