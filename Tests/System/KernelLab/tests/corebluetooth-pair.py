"""A heart-rate sensor and a monitor, written for Apple's framework, on two adapters.

Then each of them is killed in mid-subscription and started again: it is restored, and the
values come again, without a scan of the monitor.
"""
from peers import *

with Example("HeartRatePeripheral", 0) as sensor:
    sensor.expect("^advertising")
    with Example("HeartRateCentral", 1) as monitor:
        monitor.expect("^discovered Heart, -?[0-9]+ dBm")
        monitor.expect("^connected")
        monitor.expect("^heart rate: [0-9]+$", 10)
        sensor.expect("^subscribed: ")
        # The process itself; stdbuf has become it.
        monitor.signal(signal.SIGKILL)
        monitor.wait()
    start = time.monotonic()
    with Example("HeartRateCentral", 1) as monitor:
        said = monitor.expect("^restored: 1 peripherals")
        said += monitor.expect("^heart rate: ", 5)
        check(not any("scanning" in line for line in said), said)
        print(f"the monitor received again {time.monotonic() - start:.1f} s after its restart")

        sensor.signal(signal.SIGKILL)
        sensor.wait()
        start = time.monotonic()
        with Example("HeartRatePeripheral", 0) as sensor:
            sensor.expect("^restored: 1 services")
            said = monitor.expect("^disconnected: ")
            print(f"{said[-1]} after {time.monotonic() - start:.1f} s")
            said = monitor.expect("^connected")
            said += monitor.expect("^heart rate: ", 5)
            check(not any("scanning" in line for line in said), said)
            sensor.expect("^subscribed: ")
            print(f"values came again {time.monotonic() - start:.1f} s after the sensor's restart")
