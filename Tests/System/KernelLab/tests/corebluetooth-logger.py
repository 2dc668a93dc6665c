"""A logger reconnects to a sensor whose adapter was switched off, and after its own was."""
from peers import *

with Example("HeartRatePeripheral", 0) as sensor:
    sensor.expect("^advertising")
    with Example("ReconnectingLogger", 1) as logger:
        logger.expect("Heart Rate Measurement", 5)
        for turn in range(2):
            with off(0):
                logger.expect("lost, reconnecting")
                sensor.expect("^Bluetooth is not available: ")
            sensor.expect("^advertising")
            start = time.monotonic()
            logger.expect("connected")
            logger.expect("Heart Rate Measurement", 5)
            print(f"it was back after {time.monotonic() - start:.1f} s")
        with off(1):
            pass
        start = time.monotonic()
        logger.expect("connected")
        logger.expect("Heart Rate Measurement", 5)
        print(f"on its own adapter after {time.monotonic() - start:.1f} s")
        check(not logger.errors, logger.errors)
