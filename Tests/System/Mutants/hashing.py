"""The Database Hash (Vol 3, Part G, 7.3.1): AES-CMAC with a key of zeros, as FIPS 197 and RFC 4493 have it."""


def double(octet):
    return (octet << 1 ^ (0x1B if octet & 0x80 else 0)) & 0xFF


def product(one, other):
    result = 0
    for bit in range(8):
        if other >> bit & 1:
            result ^= one
        one = double(one)
    return result


def substitution():
    """The S-box: the inverse in the field of 256, then an affine change."""
    box = [0x63]
    for octet in range(1, 256):
        inverse = next(other for other in range(1, 256) if product(octet, other) == 1)
        changed = inverse
        for turn in range(1, 5):
            changed ^= (inverse << turn | inverse >> (8 - turn)) & 0xFF
        box.append(changed ^ 0x63)
    return box


BOX = substitution()


def keys(key):
    """The eleven round keys."""
    words = [list(key[at:at + 4]) for at in range(0, 16, 4)]
    constant = 1
    for index in range(4, 44):
        word = list(words[index - 1])
        if index % 4 == 0:
            word = [BOX[octet] for octet in word[1:] + word[:1]]
            word[0] ^= constant
            constant = double(constant)
        words.append([one ^ other for one, other in zip(word, words[index - 4])])
    return [sum(words[at:at + 4], []) for at in range(0, 44, 4)]


KEYS = keys(bytes(16))


def encrypt(block):
    state = [one ^ other for one, other in zip(block, KEYS[0])]
    for turn in range(1, 11):
        state = [BOX[state[(at + 4 * (at % 4)) % 16]] for at in range(16)]
        if turn < 10:
            columns = [state[at:at + 4] for at in range(0, 16, 4)]
            state = [double(c[i]) ^ double(c[(i + 1) % 4]) ^ c[(i + 1) % 4] ^ c[(i + 2) % 4] ^ c[(i + 3) % 4]
                     for c in columns for i in range(4)]
        state = [one ^ other for one, other in zip(state, KEYS[turn])]
    return bytes(state)


def shifted(block):
    number = int.from_bytes(block, "big") << 1
    return (number & (1 << 128) - 1 ^ (0x87 if number >> 128 else 0)).to_bytes(16, "big")


def database_hash(attributes):
    """The hash of attributes by handle, least significant octet first."""
    message = b""
    for handle in sorted(attributes):
        one = attributes[handle]
        kind = int.from_bytes(one.kind, "little") if len(one.kind) == 2 else 0
        if kind in (0x2800, 0x2801, 0x2802, 0x2803, 0x2900):
            message += handle.to_bytes(2, "little") + one.kind + one.value
        elif kind in (0x2901, 0x2902, 0x2903, 0x2904, 0x2905):
            message += handle.to_bytes(2, "little") + one.kind
    blocks = [message[at:at + 16] for at in range(0, len(message), 16)]
    subkey = shifted(encrypt(bytes(16)))
    if len(blocks[-1]) < 16:
        subkey = shifted(subkey)
        blocks[-1] = (blocks[-1] + b"\x80").ljust(16, b"\0")
    state = bytes(16)
    for block in blocks[:-1] + [bytes(one ^ other for one, other in zip(blocks[-1], subkey))]:
        state = encrypt(bytes(one ^ other for one, other in zip(state, block)))
    return state[::-1]
