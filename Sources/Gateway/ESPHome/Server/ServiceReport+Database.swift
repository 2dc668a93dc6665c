import AttoATT
import AttoGATT

extension ServiceReport {
  /// A service as it was discovered.
  ///
  /// - Parameter isLong: whether UUIDs are written in full, for clients before version 1.12.
  init(_ service: Service, isLong: Bool) {
    self.init(
      uuid: ReportedUUID(service.uuid, isLong: isLong), handle: service.handle.rawValue,
      characteristics: service.characteristics.map { characteristic in
        Characteristic(
          uuid: ReportedUUID(characteristic.uuid, isLong: isLong),
          handle: characteristic.valueHandle.rawValue,
          properties: characteristic.properties.rawValue,
          descriptors: characteristic.descriptors.map {
            Descriptor(
              uuid: ReportedUUID($0.uuid, isLong: isLong), handle: $0.handle.rawValue)
          })
      })
  }
}

extension ReportedUUID {
  init(_ uuid: BluetoothUUID, isLong: Bool) {
    // Zero would be left out.
    if !isLong, let short = uuid.short32, short != 0 {
      self = .short(short)
    } else {
      self = .long(high: uuid.high, low: uuid.low)
    }
  }
}
