"""A Bluetooth kernel under QEMU: what it is made of, and how it is run."""
