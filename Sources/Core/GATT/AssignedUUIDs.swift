import AttoATT

// Written by Sources/Formats/CTables/generate.py. Do not edit.

/// Common services, descriptors and characteristics of the Bluetooth SIG.
extension BluetoothUUID {
  /// Immediate Alert: 0x1802.
  public static var immediateAlert: BluetoothUUID { 0x1802 }
  /// Link Loss: 0x1803.
  public static var linkLoss: BluetoothUUID { 0x1803 }
  /// Tx Power: 0x1804.
  public static var txPower: BluetoothUUID { 0x1804 }
  /// Current Time: 0x1805.
  public static var currentTimeService: BluetoothUUID { 0x1805 }
  /// Glucose: 0x1808.
  public static var glucose: BluetoothUUID { 0x1808 }
  /// Health Thermometer: 0x1809.
  public static var healthThermometer: BluetoothUUID { 0x1809 }
  /// Device Information: 0x180A.
  public static var deviceInformation: BluetoothUUID { 0x180A }
  /// Heart Rate: 0x180D.
  public static var heartRate: BluetoothUUID { 0x180D }
  /// Battery: 0x180F.
  public static var battery: BluetoothUUID { 0x180F }
  /// Blood Pressure: 0x1810.
  public static var bloodPressure: BluetoothUUID { 0x1810 }
  /// Human Interface Device: 0x1812.
  public static var humanInterfaceDevice: BluetoothUUID { 0x1812 }
  /// Running Speed and Cadence: 0x1814.
  public static var runningSpeedAndCadence: BluetoothUUID { 0x1814 }
  /// Cycling Speed and Cadence: 0x1816.
  public static var cyclingSpeedAndCadence: BluetoothUUID { 0x1816 }
  /// Cycling Power: 0x1818.
  public static var cyclingPower: BluetoothUUID { 0x1818 }
  /// Location and Navigation: 0x1819.
  public static var locationAndNavigation: BluetoothUUID { 0x1819 }
  /// Environmental Sensing: 0x181A.
  public static var environmentalSensing: BluetoothUUID { 0x181A }
  /// Body Composition: 0x181B.
  public static var bodyComposition: BluetoothUUID { 0x181B }
  /// Weight Scale: 0x181D.
  public static var weightScale: BluetoothUUID { 0x181D }
  /// Continuous Glucose Monitoring: 0x181F.
  public static var continuousGlucoseMonitoring: BluetoothUUID { 0x181F }
  /// Pulse Oximeter: 0x1822.
  public static var pulseOximeter: BluetoothUUID { 0x1822 }
  /// Fitness Machine: 0x1826.
  public static var fitnessMachine: BluetoothUUID { 0x1826 }
  /// Valid Range: 0x2906.
  public static var validRange: BluetoothUUID { 0x2906 }
  /// External Report Reference: 0x2907.
  public static var externalReportReference: BluetoothUUID { 0x2907 }
  /// Report Reference: 0x2908.
  public static var reportReference: BluetoothUUID { 0x2908 }
  /// Peripheral Preferred Connection Parameters: 0x2A04.
  public static var peripheralPreferredConnectionParameters: BluetoothUUID { 0x2A04 }
  /// Alert Level: 0x2A06.
  public static var alertLevel: BluetoothUUID { 0x2A06 }
  /// Tx Power Level: 0x2A07.
  public static var txPowerLevel: BluetoothUUID { 0x2A07 }
  /// Date Time: 0x2A08.
  public static var dateTime: BluetoothUUID { 0x2A08 }
  /// Local Time Information: 0x2A0F.
  public static var localTimeInformation: BluetoothUUID { 0x2A0F }
  /// Glucose Measurement: 0x2A18.
  public static var glucoseMeasurement: BluetoothUUID { 0x2A18 }
  /// Battery Level: 0x2A19.
  public static var batteryLevel: BluetoothUUID { 0x2A19 }
  /// Temperature Measurement: 0x2A1C.
  public static var temperatureMeasurement: BluetoothUUID { 0x2A1C }
  /// Temperature Type: 0x2A1D.
  public static var temperatureType: BluetoothUUID { 0x2A1D }
  /// Measurement Interval: 0x2A21.
  public static var measurementInterval: BluetoothUUID { 0x2A21 }
  /// Boot Keyboard Input Report: 0x2A22.
  public static var bootKeyboardInputReport: BluetoothUUID { 0x2A22 }
  /// System ID: 0x2A23.
  public static var systemID: BluetoothUUID { 0x2A23 }
  /// Model Number String: 0x2A24.
  public static var modelNumberString: BluetoothUUID { 0x2A24 }
  /// Serial Number String: 0x2A25.
  public static var serialNumberString: BluetoothUUID { 0x2A25 }
  /// Firmware Revision String: 0x2A26.
  public static var firmwareRevisionString: BluetoothUUID { 0x2A26 }
  /// Hardware Revision String: 0x2A27.
  public static var hardwareRevisionString: BluetoothUUID { 0x2A27 }
  /// Software Revision String: 0x2A28.
  public static var softwareRevisionString: BluetoothUUID { 0x2A28 }
  /// Manufacturer Name String: 0x2A29.
  public static var manufacturerNameString: BluetoothUUID { 0x2A29 }
  /// Current Time: 0x2A2B.
  public static var currentTime: BluetoothUUID { 0x2A2B }
  /// Boot Mouse Input Report: 0x2A33.
  public static var bootMouseInputReport: BluetoothUUID { 0x2A33 }
  /// Glucose Measurement Context: 0x2A34.
  public static var glucoseMeasurementContext: BluetoothUUID { 0x2A34 }
  /// Blood Pressure Measurement: 0x2A35.
  public static var bloodPressureMeasurement: BluetoothUUID { 0x2A35 }
  /// Heart Rate Measurement: 0x2A37.
  public static var heartRateMeasurement: BluetoothUUID { 0x2A37 }
  /// Body Sensor Location: 0x2A38.
  public static var bodySensorLocation: BluetoothUUID { 0x2A38 }
  /// Heart Rate Control Point: 0x2A39.
  public static var heartRateControlPoint: BluetoothUUID { 0x2A39 }
  /// Blood Pressure Feature: 0x2A49.
  public static var bloodPressureFeature: BluetoothUUID { 0x2A49 }
  /// HID Information: 0x2A4A.
  public static var hidInformation: BluetoothUUID { 0x2A4A }
  /// Report Map: 0x2A4B.
  public static var reportMap: BluetoothUUID { 0x2A4B }
  /// HID Control Point: 0x2A4C.
  public static var hidControlPoint: BluetoothUUID { 0x2A4C }
  /// Report: 0x2A4D.
  public static var report: BluetoothUUID { 0x2A4D }
  /// Protocol Mode: 0x2A4E.
  public static var protocolMode: BluetoothUUID { 0x2A4E }
  /// PnP ID: 0x2A50.
  public static var pnpID: BluetoothUUID { 0x2A50 }
  /// Glucose Feature: 0x2A51.
  public static var glucoseFeature: BluetoothUUID { 0x2A51 }
  /// Record Access Control Point: 0x2A52.
  public static var recordAccessControlPoint: BluetoothUUID { 0x2A52 }
  /// RSC Measurement: 0x2A53.
  public static var rscMeasurement: BluetoothUUID { 0x2A53 }
  /// RSC Feature: 0x2A54.
  public static var rscFeature: BluetoothUUID { 0x2A54 }
  /// CSC Measurement: 0x2A5B.
  public static var cscMeasurement: BluetoothUUID { 0x2A5B }
  /// CSC Feature: 0x2A5C.
  public static var cscFeature: BluetoothUUID { 0x2A5C }
  /// Sensor Location: 0x2A5D.
  public static var sensorLocation: BluetoothUUID { 0x2A5D }
  /// Cycling Power Measurement: 0x2A63.
  public static var cyclingPowerMeasurement: BluetoothUUID { 0x2A63 }
  /// Pressure: 0x2A6D.
  public static var pressure: BluetoothUUID { 0x2A6D }
  /// Temperature: 0x2A6E.
  public static var temperature: BluetoothUUID { 0x2A6E }
  /// Humidity: 0x2A6F.
  public static var humidity: BluetoothUUID { 0x2A6F }
  /// Weight Measurement: 0x2A9D.
  public static var weightMeasurement: BluetoothUUID { 0x2A9D }
}
