/// Characteristic Extended Properties: `CBDescriptor.value` is an NSNumber.
public let CBUUIDCharacteristicExtendedPropertiesString: String = "2900"
/// Characteristic User Description: a String.
public let CBUUIDCharacteristicUserDescriptionString: String = "2901"
/// Client Characteristic Configuration: an NSNumber.
public let CBUUIDClientCharacteristicConfigurationString: String = "2902"
/// Server Characteristic Configuration: an NSNumber.
public let CBUUIDServerCharacteristicConfigurationString: String = "2903"
/// Characteristic Presentation Format: Data.
public let CBUUIDCharacteristicFormatString: String = "2904"
/// Characteristic Aggregate Format: Data.
public let CBUUIDCharacteristicAggregateFormatString: String = "2905"
/// Valid Range: Data.
public let CBUUIDCharacteristicValidRangeString: String = "2906"
/// Observation Schedule: Data.
public let CBUUIDCharacteristicObservationScheduleString: String = "2910"
/// A characteristic that holds the PSM of an L2CAP channel: Apple's own.
public let CBUUIDL2CAPPSMCharacteristicString: String = "ABDD3056-28FA-441D-A470-55A75A52553A"
