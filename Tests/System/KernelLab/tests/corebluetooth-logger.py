"""A logger reconnects to a sensor whose adapter was switched off, and after its own was."""
# deadline: 240
from peers import *

with Example("HeartRatePeripheral", 0) as sensor:
    sensor.expect("^advertising")
    with Example("ReconnectingLogger", 1) as logger:
        logger.expect("Heart Rate Measurement", 5)
        for turn in range(2):
            control.switch(0, "power", False)
            logger.expect("lost, reconnecting")
            sensor.expect("^Bluetooth is not available: ")
            control.switch(0, "power", True)
            sensor.expect("^advertising")
            start = time.monotonic()
            logger.expect("connected")
            logger.expect("Heart Rate Measurement", 5)
            print(f"it was back after {time.monotonic() - start:.1f} s")
        control.switch(1, "power", False)
        control.switch(1, "power", True)
        start = time.monotonic()
        logger.expect("connected")
        logger.expect("Heart Rate Measurement", 5)
        print(f"on its own adapter after {time.monotonic() - start:.1f} s")
        check(not logger.errors, logger.errors)
