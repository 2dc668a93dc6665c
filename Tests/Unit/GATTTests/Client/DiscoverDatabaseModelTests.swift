import AttoATT
import AttoGATT
import TestSupport
import Testing

/// Discovery against the model server: what it finds, and with how many requests.
@Suite(.sideBySide) struct DiscoverDatabaseModelTests {
  /// 20 services with 10 characteristics of 4 attributes each: 820 attributes, at handles 1 to
  /// 820. The numbers are exact, so that
  /// no change makes discovery more expensive unnoticed.
  @Test(arguments: [
    // MTU 23: 3 services, 3 characteristics or 5 descriptors in a response.
    (mtu: 23, groups: 8 + 1, characteristics: 68, descriptors: 140),
    (mtu: 185, groups: 1 + 1 + 1, characteristics: 9, descriptors: 19),
    (mtu: 512, groups: 1 + 1 + 1, characteristics: 4, descriptors: 7),
    (mtu: 517, groups: 1 + 1 + 1, characteristics: 4, descriptors: 7),
  ])
  func referenceDatabase(
    mtu: Int, groups: Int, characteristics: Int, descriptors: Int
  ) throws {
    let database = RemoteDatabase.regular(services: 20, characteristics: 10)
    var server = ModelServer(database)
    #expect(server.attributes.count == 820)
    let found = try server.run(DiscoverDatabase(), mtu: mtu)
    #expect(found == database)
    // Its descriptors are parts of one array for each service, those of `database` are not.
    #expect(Set([found, database]).count == 1)
    for characteristic in database.services.flatMap(\.characteristics) {
      #expect(found.characteristic(valueHandle: characteristic.valueHandle)?.cccd != nil)
      for descriptor in characteristic.descriptors {
        #expect(found.descriptor(at: descriptor.handle) == descriptor)
      }
    }
    #expect(server.requests.count { $0 == .readByGroupTypeRequest } == groups)
    #expect(server.requests.count { $0 == .readByTypeRequest } == characteristics)
    #expect(server.requests.count { $0 == .findInformationRequest } == descriptors)
    #expect(server.requests.count == groups + characteristics + descriptors)
  }

  /// The second connection takes one round trip.
  @Test func cachedReferenceDatabase() throws {
    var database = RemoteDatabase.regular(services: 20, characteristics: 10)
    let hash = [UInt8](1...16)
    let attribute = Service(
      handle: 0x0400, endGroupHandle: 0x0402, uuid: .genericAttribute,
      characteristics: [
        Characteristic(
          declarationHandle: 0x0401, valueHandle: 0x0402, endGroupHandle: 0x0402, properties: .read,
          uuid: .databaseHash)
      ])
    database = RemoteDatabase(services: database.services + [attribute], databaseHash: hash)
    var server = ModelServer(database)
    let found = try server.run(DiscoverDatabase(readsDatabaseHash: true), mtu: 512)
    #expect(found == database)
    let first = server.requests.count
    let again = try server.run(DiscoverDatabase(cached: found), mtu: 512)
    #expect(again == database)
    #expect(server.requests.count == first + 1)
  }

  @Test(arguments: [23, 24, 27, 64, 185, 517], [Int.max, 3, 1])
  func randomDatabases(mtu: Int, entryLimit: Int) throws {
    for seed in UInt64(1)...40 {
      var random = SplitMix64(seed: seed)
      let database = RemoteDatabase.random(using: &random)
      var server = ModelServer(database)
      server.entryLimit = entryLimit
      let found = try server.run(DiscoverDatabase(), mtu: mtu)
      #expect(found == database, "seed \(seed)")
    }
  }

  /// Tests that the random databases have everything that they should have.
  @Test func randomDatabasesAreVaried() {
    var services: [Service] = []
    for seed in UInt64(1)...100 {
      var random = SplitMix64(seed: seed)
      services += RemoteDatabase.random(using: &random).services
    }
    let characteristics = services.flatMap(\.characteristics)
    let includes = services.flatMap(\.includes)
    #expect(services.contains { $0.handle == .max })
    #expect(services.contains { $0.endGroupHandle == .max && $0.handle != .max })
    #expect(services.contains { !$0.isPrimary })
    #expect(services.contains { $0.handle == $0.endGroupHandle })
    #expect(
      services.contains { $0.uuid.short == nil } && services.contains { $0.uuid.short != nil })
    #expect(includes.contains { $0.startHandle < $0.handle })
    #expect(includes.contains { $0.startHandle > $0.handle })
    #expect(
      includes.contains { $0.uuid.short == nil } && includes.contains { $0.uuid.short != nil })
    #expect(Set(characteristics.map(\.descriptors.count)) == Set(0...5))
    #expect(characteristics.contains { $0.uuid.short == nil })
    let mixed = characteristics.filter {
      Set($0.descriptors.map(\.uuid.encodedLength)) == [2, 16]
    }
    #expect(!mixed.isEmpty)
  }

  /// The stages one by one find the same as all of them together.
  @Test(arguments: [23, 64, 517], [Int.max, 1])
  func proceduresOneByOne(mtu: Int, entryLimit: Int) throws {
    for seed in UInt64(1)...40 {
      var random = SplitMix64(seed: seed)
      let database = RemoteDatabase.random(using: &random)
      var server = ModelServer(database)
      server.entryLimit = entryLimit
      let comment: Comment = "seed \(seed)"

      let primary = try server.run(DiscoverPrimaryServices(), mtu: mtu)
      let secondary = try server.run(DiscoverSecondaryServices(), mtu: mtu)
      let bare = database.services.map {
        Service(
          handle: $0.handle, endGroupHandle: $0.endGroupHandle, uuid: $0.uuid,
          isPrimary: $0.isPrimary)
      }
      #expect(primary == bare.filter(\.isPrimary), comment)
      #expect(secondary == bare.filter { !$0.isPrimary }, comment)

      for service in database.services {
        let range = try #require(service.range)
        let sameType = try server.run(DiscoverPrimaryServicesByUUID(service.uuid), mtu: mtu)
        #expect(sameType == bare.filter { $0.isPrimary && $0.uuid == service.uuid }, comment)
        let includes = try server.run(FindIncludedServices(in: range), mtu: mtu)
        #expect(includes == service.includes, comment)
        let characteristics = try server.run(DiscoverCharacteristics(in: range), mtu: mtu)
        #expect(
          characteristics
            == service.characteristics.map {
              Characteristic(
                declarationHandle: $0.declarationHandle, valueHandle: $0.valueHandle,
                endGroupHandle: $0.endGroupHandle, properties: $0.properties, uuid: $0.uuid)
            }, comment)
        for characteristic in service.characteristics {
          let found = try server.run(
            DiscoverCharacteristicsByUUID(characteristic.uuid, in: range), mtu: mtu)
          #expect(
            found.map(\.declarationHandle)
              == service.characteristics(characteristic.uuid).map(\.declarationHandle),
            comment)
          guard let gap = characteristic.descriptorRange else { continue }
          let descriptors = try server.run(DiscoverDescriptors(in: gap), mtu: mtu)
          #expect(descriptors == characteristic.descriptors, comment)
        }
      }
    }
  }
}
