import AttoATT
import Atto
import AttoGATT

@testable import AttoStore

/// A peer's database as the store kept it. The input is a blob.
///
/// Rules: a blob that is read gives the same database from its own octets; lookups in whatever
/// database it is find only what is there.
enum StoreTarget {
  static func take(_ input: [UInt8]) {
    guard let database = RemoteDatabase(stored: input) else { return }
    let stored = database.stored
    Failure.unless(
      RemoteDatabase(stored: stored) == database, "a database reads back", hex(input))
    Failure.unless(stored.count <= input.count, "nothing grows", "\(stored.count)")
    for probe in [0x0001, 0x0010, 0xFFFF] as [AttributeHandle] {
      if let service = database.service(containing: probe) {
        Failure.unless(service.contains(probe), "lookups find what is there", "\(probe)")
      }
      if let found = database.characteristic(valueHandle: probe) {
        Failure.unless(found.valueHandle == probe, "lookups find what is there", "\(probe)")
      }
      if let found = database.descriptor(at: probe) {
        Failure.unless(found.handle == probe, "lookups find what is there", "\(probe)")
      }
      _ = database.service(at: probe)
      _ = database.characteristic(containing: probe)
    }
  }

  static var seeds: [[UInt8]] {
    let services = [
      Service(
        handle: 1, endGroupHandle: 9, uuid: 0x180D, isPrimary: true,
        includes: [IncludedService(handle: 2, startHandle: 16, endGroupHandle: 20, uuid: 0x180A)],
        characteristics: [
          Characteristic(
            declarationHandle: 3, valueHandle: 4, endGroupHandle: 9, properties: [.read, .notify],
            uuid: 0x2A37, descriptors: [Descriptor(handle: 5, uuid: 0x2902)])
        ]),
      Service(
        handle: 16, endGroupHandle: 20, uuid: 0x180A, isPrimary: false, includes: [],
        characteristics: []),
    ]
    return [
      RemoteDatabase(services: services).stored,
      RemoteDatabase(services: services, databaseHash: [UInt8](0..<16)).stored,
    ]
  }
}
