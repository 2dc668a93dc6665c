import CAtto

// The discovery procedures of a client. Vol 3, Part G, 4.4 to 4.7.

@_cdecl("attocore_discover_primary_services")
func discoverPrimaryServices(
  _ bearer: UnsafeMutableRawPointer, _ first: UInt16, _ last: UInt16, _ now: Int64,
  _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let start = unsafe Start(bearer, now, id)
  guard let range = start.range(first, last) else { return Int32(ATTO_ERR_ARGUMENT) }
  return start.run(DiscoverPrimaryServices(in: range, limits: start.limits), postServices)
}

@_cdecl("attocore_discover_primary_services_by_uuid")
func discoverPrimaryServicesByUUID(
  _ bearer: UnsafeMutableRawPointer, _ uuid: atto_uuid, _ now: Int64,
  _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let start = unsafe Start(bearer, now, id)
  return start.run(
    DiscoverPrimaryServicesByUUID(BluetoothUUID(uuid), limits: start.limits), postServices)
}

@_cdecl("attocore_discover_secondary_services")
func discoverSecondaryServices(
  _ bearer: UnsafeMutableRawPointer, _ now: Int64, _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let start = unsafe Start(bearer, now, id)
  return start.run(DiscoverSecondaryServices(limits: start.limits), postServices)
}

@_cdecl("attocore_find_included_services")
func findIncludedServices(
  _ bearer: UnsafeMutableRawPointer, _ first: UInt16, _ last: UInt16, _ now: Int64,
  _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let start = unsafe Start(bearer, now, id)
  guard let range = start.range(first, last) else { return Int32(ATTO_ERR_ARGUMENT) }
  return start.run(FindIncludedServices(in: range, limits: start.limits)) { connection, found in
    for include in found { connection.post(include) }
    return nil
  }
}

@_cdecl("attocore_discover_characteristics")
func discoverCharacteristics(
  _ bearer: UnsafeMutableRawPointer, _ first: UInt16, _ last: UInt16, _ now: Int64,
  _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let start = unsafe Start(bearer, now, id)
  guard let range = start.range(first, last) else { return Int32(ATTO_ERR_ARGUMENT) }
  return start.run(DiscoverCharacteristics(in: range, limits: start.limits), postCharacteristics)
}

@_cdecl("attocore_discover_characteristics_by_uuid")
func discoverCharacteristicsByUUID(
  _ bearer: UnsafeMutableRawPointer, _ uuid: atto_uuid, _ first: UInt16, _ last: UInt16,
  _ now: Int64, _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let start = unsafe Start(bearer, now, id)
  guard let range = start.range(first, last) else { return Int32(ATTO_ERR_ARGUMENT) }
  return start.run(
    DiscoverCharacteristicsByUUID(BluetoothUUID(uuid), in: range, limits: start.limits),
    postCharacteristics)
}

@_cdecl("attocore_discover_descriptors")
func discoverDescriptors(
  _ bearer: UnsafeMutableRawPointer, _ first: UInt16, _ last: UInt16, _ now: Int64,
  _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let start = unsafe Start(bearer, now, id)
  guard let range = start.range(first, last) else { return Int32(ATTO_ERR_ARGUMENT) }
  return start.run(DiscoverDescriptors(in: range, limits: start.limits)) { connection, found in
    for descriptor in found { connection.post(descriptor) }
    return nil
  }
}

@_cdecl("attocore_discover_all")
func discoverAll(
  _ bearer: UnsafeMutableRawPointer, _ now: Int64, _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let start = unsafe Start(bearer, now, id)
  return start.run(DiscoverDatabase(limits: start.limits)) { connection, database in
    for service in database.services {
      connection.post(service)
      for include in service.includes { connection.post(include) }
      for characteristic in service.characteristics {
        connection.post(characteristic)
        for descriptor in characteristic.descriptors { connection.post(descriptor) }
      }
    }
    return nil
  }
}

private func postServices(_ connection: Connection, _ services: [Service]) -> ProcedureError? {
  for service in services { connection.post(service) }
  return nil
}

private func postCharacteristics(
  _ connection: Connection, _ characteristics: [Characteristic]
) -> ProcedureError? {
  for characteristic in characteristics { connection.post(characteristic) }
  return nil
}
