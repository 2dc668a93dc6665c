/// A sensor for plants, the pink version.
enum HHCC {
  static func decode(_ device: SensorDevice) -> SensorAdvertisement? {
    guard let data = device.serviceData(0xFD50), data.count == 9 else { return nil }
    var result = SensorAdvertisement("HHCC", model: "HHCCJCY10", manufacturer: "HHCC")
    result.add(fields, of: data)
    return result
  }

  private static let fields = SensorField.list(
    """
    moisture u1, temperature@1 >u2/10, illuminance@3 >u3, battery@6 u1, conductivity@7 >u2
    """)
}
