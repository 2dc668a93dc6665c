import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Every procedure against servers that answer anything: it ends, within its limits, and never
/// traps.
@Suite(.sideBySide) struct HostileServerTests {
  static let requestLimit = 64
  static let limits = DiscoveryLimits(
    services: 100, includes: 100, characteristics: 100, descriptors: 100, values: 100,
    requests: requestLimit)

  /// All procedures, with a database in which each finds something.
  static var procedures: [any Procedure] {
    [
      ExchangeMTU(clientReceiveMTU: 517),
      DiscoverPrimaryServices(limits: limits),
      DiscoverSecondaryServices(limits: limits),
      DiscoverPrimaryServicesByUUID(0x1900, limits: limits),
      FindIncludedServices(in: .all, limits: limits),
      DiscoverCharacteristics(in: .all, limits: limits),
      DiscoverCharacteristicsByUUID(0x2B00, in: .all, limits: limits),
      DiscoverDescriptors(in: .all, limits: limits),
      DiscoverDatabase(limits: limits),
      DiscoverDatabase(
        cached: RemoteDatabase(services: [], databaseHash: [UInt8](0...15)), limits: limits),
      ReadCharacteristicValue(3),
      ReadUsingUUID(0x2B00, limits: limits),
      ReadUsingUUID(0x2B00, extent: .firstResponse, limits: limits),
      ReadLongValue(3),
      ReadLongValue(3, offset: 3),
      ReadLongValue(3, offset: 0xFFFF),
      ReadBlob(3, offset: 1),
      ReadMultiple([3, 7]),
      ReadMultipleVariable([3, 7]),
      WriteValue(3, value: [1, 2, 3]),
      WriteLongValue(3, value: [UInt8](0...99)),
      ReliableWrites([
        LongWrite(3, value: [UInt8](0...49)), LongWrite(7, value: [1]),
      ]),
      PrepareWrite(3, offset: 0, part: [1, 2, 3]),
      ExecuteWrite(.write),
    ]
  }

  static let database = RemoteDatabase(services: [
    Service(
      handle: 1, endGroupHandle: 9, uuid: 0x1900,
      includes: [
        IncludedService(
          handle: 2, startHandle: 0x20, endGroupHandle: 0x25,
          uuid: BluetoothUUID(high: 1, low: 2))
      ],
      characteristics: [
        Characteristic(
          declarationHandle: 4, valueHandle: 5, endGroupHandle: 7, properties: .read, uuid: 0x2B00,
          descriptors: [
            Descriptor(handle: 6, uuid: .clientCharacteristicConfiguration),
            Descriptor(handle: 7, uuid: BluetoothUUID(high: 1, low: 3)),
          ]),
        Characteristic(
          declarationHandle: 8, valueHandle: 9, endGroupHandle: 9, properties: .read,
          uuid: BluetoothUUID(high: 1, low: 4)),
      ]),
    Service(
      handle: 0x20, endGroupHandle: 0x25, uuid: BluetoothUUID(high: 1, low: 2), isPrimary: false,
      characteristics: [
        Characteristic(
          declarationHandle: 0x21, valueHandle: 0x22, endGroupHandle: 0x25, properties: .read,
          uuid: 0x2B00)
      ]),
  ])

  static var server: ModelServer {
    var server = ModelServer(database)
    server.attributes.insert(
      .init(handle: 3, type: 0x2B01, value: [UInt8](repeating: 7, count: 100)), at: 2)
    return server
  }

  /// Lets a procedure talk to `answer` until it ends, and returns how many requests it took.
  private func converse<P: Procedure>(
    _ procedure: P, mtu: Int, _ answer: ([UInt8]) -> [UInt8]
  ) -> Int {
    var procedure = procedure
    for requests in 1...Self.requestLimit {
      do throws(ProcedureError) {
        let request = try procedure.request(mtu: mtu)
        if case .finished = try procedure.receive(octets: answer(request), mtu: mtu) {
          return requests
        }
      } catch { return requests }
    }
    return Self.requestLimit + 1
  }

  /// Octets without any sense, then with the right opcode, then with a small number of handles so
  /// that lists get past the first checks.
  @Test(arguments: [23, 64, 517])
  func randomResponses(mtu: Int) {
    for seed in UInt64(1)...400 {
      var random = SplitMix64(seed: seed)
      for procedure in Self.procedures {
        let requests = converse(procedure, mtu: mtu) { request in
          var response = random.octets(random.number(0...600))
          if !response.isEmpty, random.chance(0.9) {
            response[0] = random.chance(0.95) ? request[0] + 1 : 1
          }
          if random.chance(0.8) { response = [UInt8](response.prefix(random.number(1...mtu))) }
          if response.count > 1, random.chance(0.7) {
            response[1] = [1, 2, 4, 6, 7, 8, 20, 21].randomElement(using: &random)!
          }
          return response
        }
        #expect(requests <= Self.requestLimit, "seed \(seed), \(procedure)")
      }
    }
  }

  /// Right responses with a few octets changed, left out or added: what gets deepest.
  @Test(arguments: [23, 64, 517])
  func changedResponses(mtu: Int) {
    var deepest = 0
    for seed in UInt64(1)...400 {
      var random = SplitMix64(seed: seed)
      for procedure in Self.procedures {
        var server = Self.server
        if random.chance(0.3) { server.entryLimit = 1 }
        let requests = converse(procedure, mtu: mtu) { request in
          var response = server.respond(to: request, mtu: mtu)
          guard random.chance(0.3) else { return response }
          for _ in 0..<random.number(1...3) {
            let index = random.number(0...response.count - 1)
            switch random.number(0...5) {
            case 0: response[index] = UInt8.random(in: 0...255, using: &random)
            case 1: response[index] &+= 1
            case 2: response[index] &-= 1
            case 3: response[index] = random.chance(0.5) ? 0 : 0xFF
            case 4: response.append(UInt8.random(in: 0...255, using: &random))
            default: if response.count > 1 { response.removeLast() }
            }
          }
          return response
        }
        deepest = max(deepest, requests)
        #expect(requests <= Self.requestLimit, "seed \(seed), \(procedure)")
      }
    }
    #expect(deepest > 5)
  }

  /// A server that finds something new at every handle runs into the limits, all of them.
  @Test func serverWithoutEnd() {
    let everywhere: [(any Procedure, (UInt16) -> [UInt8])] = [
      (
        DiscoverPrimaryServices(limits: Self.limits),
        {
          octets("11 06") + AttributeHandle($0).littleEndianOctets
            + AttributeHandle($0).littleEndianOctets + [0, 24]
        }
      ),
      (
        DiscoverPrimaryServicesByUUID(0x1800, limits: Self.limits),
        { [7] + AttributeHandle($0).littleEndianOctets + AttributeHandle($0).littleEndianOctets }
      ),
      (
        FindIncludedServices(in: .all, limits: Self.limits),
        { octets("09 06") + AttributeHandle($0).littleEndianOctets + [1, 0, 1, 0] }
      ),
      (
        DiscoverDescriptors(in: .all, limits: Self.limits),
        { octets("05 01") + AttributeHandle($0).littleEndianOctets + [1, 41] }
      ),
      (
        ReadUsingUUID(0x1800, limits: Self.limits),
        { octets("09 02") + AttributeHandle($0).littleEndianOctets }
      ),
    ]
    for (procedure, answer) in everywhere {
      let requests = converse(procedure, mtu: 23) { request in
        answer(UInt16(request[1]) | UInt16(request[2]) << 8)
      }
      #expect(requests == Self.requestLimit)
    }
  }

  /// Every string of up to two octets that begins like a response, as the response to every request
  /// of every procedure; and every other first octet, as the response to the first one.
  @Test func everyShortResponse() {
    for procedure in Self.procedures { attack(procedure) }
  }

  private func attack<P: Procedure>(_ procedure: P) {
    let responses = Opcode.all.filter { $0.kind == .response }.map(\.rawValue)
    for first in UInt8.min...UInt8.max where !responses.contains(first) {
      for rest in [[], [0], [first], [255]] as [[UInt8]] {
        attackOneStep(procedure, [first] + rest)
      }
    }
    var procedure = procedure
    var server = Self.server
    while true {
      guard let request = try? procedure.request(mtu: 64) else { return }
      attackOneStep(procedure, [])
      for first in responses {
        attackOneStep(procedure, [first])
        for second in UInt8.min...UInt8.max { attackOneStep(procedure, [first, second]) }
      }
      let response = server.respond(to: request, mtu: 64)
      guard case .request = try? procedure.receive(octets: response, mtu: 64) else { return }
    }
  }

  private func attackOneStep<P: Procedure>(_ procedure: P, _ response: [UInt8]) {
    var procedure = procedure
    guard case .request = try? procedure.receive(octets: response, mtu: 64) else { return }
    // What it goes on with can be sent.
    #expect(throws: Never.self) { try procedure.request(mtu: 64) }
  }
}
