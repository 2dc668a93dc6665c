"""A sensor that answers nothing for 30 s, or nothing after its MTU: the monitor asks again on another link.

For two seconds the kernel gives a new socket the link of the one before, on which nothing would answer either. One of
the links ends later than that, as on a busy machine: the controllers stand still at its end.
"""
from peers import *

# Until the monitor gives up; until the controllers go on, less than 2 s after the kernel's request to disconnect, whose
# answer it awaits so long.
SILENCE, STANDSTILL = 30, 3.5

ADVERTISED = bytes.fromhex("0303 0D18")  # Complete list of services: Heart Rate
EXCHANGE_MTU_REQUEST, EXCHANGE_MTU_RESPONSE = 0x02, bytes.fromhex("03 1700")

listener = Listener(0)


def asked() -> Bearer:
    """A new link, whose central has asked for the MTU."""
    with on_air({0: (ADVERTISED, b"")}):
        sensor = listener.accept()
    request = sensor.receive()
    check(request[0] == EXCHANGE_MTU_REQUEST, request.hex())
    return sensor


def await_end(sensor: Bearer, is_late: bool = False) -> None:
    start = time.monotonic()
    if is_late:
        time.sleep(SILENCE + 0.5)
        with standstill():
            time.sleep(STANDSTILL - 0.5)
    try:
        while request := sensor.receive():
            check(request[0] != EXCHANGE_MTU_REQUEST, "the next attempt is on the same link")
    except OSError as end:
        print(f"{end.strerror} after {time.monotonic() - start:.1f} s")
    sensor.close()


with Example("HeartRateCentral", 1) as monitor:
    await_end(asked(), is_late=True)
    sensor = asked()
    sensor.send(EXCHANGE_MTU_RESPONSE)
    monitor.expect("^connected")
    await_end(sensor)
    monitor.expect("^disconnected: ")
    asked().close()
listener.close()
