import AttoATT
import AttoGATT

// The actions of a device as a client, and on its links.

extension Simulator {
  private enum Action {
    case server, cancel, pause, security, raw, loss, burst, bearers, client
  }
  private static let actions: KeyValuePairs<Action, Int> = [
    .server: 7, .cancel: 1, .pause: 1, .security: 1, .raw: 1, .loss: 1, .burst: 1, .bearers: 1,
    .client: 6,
  ]

  func act(_ device: Device) {
    let ends = device.ends
    if ends.isEmpty || random.chance(0.06) {
      let other = devices[random.below(devices.count)]
      connect(device, other)
      guard !ends.isEmpty else { return }
    }
    guard !ends.isEmpty else { return }
    let end = ends[random.below(ends.count)]
    switch random.pick(Self.actions) {
    case .server: actAsServer(end)
    case .cancel:
      let operations = end.side.operations
      guard plan.hazards.contains(.cancels), !operations.isEmpty else { break }
      count(.cancels)
      end.cancel(operations[random.below(operations.count)])
    case .pause:
      guard plan.hazards.contains(.slowConsumers), !end.isPaused else { break }
      end.isPaused = true
      agenda.add(.resume(end), at: now + someDelay(random.chance(0.05) ? 40_000 : 2000))
    case .security:
      guard plan.hazards.contains(.security) else { break }
      raiseSecurity(end.connection)
    case .raw where device.isRogue: sendRaw(end)
    case .loss:
      guard plan.hazards.contains(.losses), random.chance(0.4) else { break }
      count(.losses)
      note { "\(end.name) closes" }
      end.end()
    case .burst where plan.hazards.contains(.tightLimits):
      for _ in 0..<8 where end.isUsable { startSomething(end) }
    case .bearers where plan.hazards.contains(.enhanced): changeBearers(end)
    default: startSomething(end)
    }
  }

  private func raiseSecurity(_ connection: Connection) {
    let levels: [SecurityLevel] = [.medium, .high, .fips]
    let level = levels[random.below(3)]
    guard level > connection.security.level else { return }
    // A key is never replaced by a shorter one.
    let keySize = max(connection.security.keySize, random.chance(0.3) ? 7 : 16)
    connection.security = LinkSecurity(level: level, keySize: keySize)
    note { "link \(connection.number) reaches \(level)" }
    // Some links report the change; for others the server must ask.
    let isTold = random.chance(0.5)
    for client in [connection.centralClient, connection.peripheralClient] {
      client?.model.security = connection.security
      if isTold || client?.model.signing != nil { client?.engine.security = connection.security }
    }
  }

  /// A handle of the other side's database, or a random one.
  private func someHandle(_ end: LinkEnd, _ isWanted: (ModelRow) -> Bool = { _ in true }) -> UInt16
  {
    guard let model = end.peer.device.model, !random.chance(0.05) else {
      return UInt16(random.below(random.chance(0.5) ? 40 : 0x10000))
    }
    let rows = model.rows.filter(isWanted)
    return rows.isEmpty ? 1 : rows[random.below(rows.count)].handle
  }

  private func handle(_ end: LinkEnd) -> AttributeHandle {
    AttributeHandle(someHandle(end))
  }

  private func writable(_ end: LinkEnd) -> AttributeHandle {
    AttributeHandle(
      someHandle(end) { row in
        if case .denied = row.permissions.write { return false }
        return row.kind.isValue
      })
  }

  private func someRange(_ end: LinkEnd) -> HandleRange {
    if random.chance(0.5) { return .all }
    let (a, b) = (someHandle(end), someHandle(end))
    return HandleRange(AttributeHandle(min(a, b)), AttributeHandle(max(a, b))) ?? .all
  }

  private enum Start {
    case discovery, exchange, read, readBlob, readLong, readSeveral, readUsingUUID
    case discoveryOfPart, write, writeLong, reliableWrites, singleStep, command, configuration
    case features, readThatGoesOn
  }
  private static let starts: KeyValuePairs<Start, Int> = [
    .discovery: 2, .exchange: 1, .read: 2, .readBlob: 1, .readLong: 2, .readSeveral: 1,
    .readUsingUUID: 1, .discoveryOfPart: 1, .write: 3, .writeLong: 2, .reliableWrites: 1,
    .singleStep: 1, .command: 2, .configuration: 3, .features: 1, .readThatGoesOn: 2,
  ]

  /// Starts an operation, each kind as often as its number says.
  func startSomething(_ end: LinkEnd) {
    guard end.isUsable else { return }
    switch random.pick(Self.starts) {
    case .discovery: discover(end)
    case .exchange where random.chance(0.1):
      end.start(ExchangeMTU(clientReceiveMTU: 22), "Exchange MTU of 22") { result, watch in
        if case .success = result {
          watch.end.fail("misuse is refused", "an ATT_MTU of 22 was exchanged")
        }
      }
    case .exchange:
      end.start(
        ExchangeMTU(clientReceiveMTU: end.device.configuration.receiveMTU), "Exchange MTU",
        isExchange: true
      ) { result, watch in
        if case .success(let mtu) = result, watch.end.connection.isTrusted,
          mtu != watch.end.judge.mtu
        {
          watch.end.fail("both sides agree on ATT_MTU", "\(mtu)")
        }
      }
    case .read:
      end.start(ReadCharacteristicValue(handle(end)), "Read") { result, watch in
        guard case .success(let value) = result else { return }
        watch.expect(value, [UInt8]((watch.exchanges.last?.response ?? []).dropFirst()))
      }
    case .readBlob:
      end.start(ReadBlob(handle(end), offset: UInt16(random.below(520))), "Read Blob") {
        result, watch in
        guard case .success(let value) = result else { return }
        watch.expect(value, [UInt8]((watch.exchanges.last?.response ?? []).dropFirst()))
      }
    case .readLong:
      let offset = random.chance(0.7) ? 0 : UInt16(random.below(30))
      end.start(ReadLongValue(handle(end), offset: offset), "Read Long") {
        $1.checkLong($0)
      }
    case .readSeveral: readSeveral(end)
    case .readUsingUUID:
      let uuid = random.chance(0.4) ? BluetoothUUID.characteristic : someUUID()
      end.start(
        ReadUsingUUID(
          uuid, in: someRange(end), extent: random.chance(0.5) ? .all : .firstResponse),
        "Read Using UUID"
      ) { result, watch in
        guard case .success(let output) = result else { return }
        var ought: [UInt8] = []
        for (_, response) in watch.exchanges where response.first == 0x09 {
          ought += response.dropFirst(2)
        }
        watch.expect(output.values.flatMap { octets($0.handle.rawValue) + $0.octets }, ought)
      }
    case .discoveryOfPart: discoverPart(end)
    case .write:
      let value = someOctets(512)
      end.start(WriteValue(writable(end), value: value), "Write") { result, watch in
        guard case .success = result else { return }
        watch.expect(watch.exchanges.last?.response ?? [], [0x13])
        watch.expect([UInt8]((watch.exchanges.last?.request ?? []).dropFirst(3)), value)
      }
    case .writeLong:
      let writes = [LongWrite(writable(end), value: someOctets(512))]
      end.start(WriteLongValue(writes[0].handle, value: writes[0].value), "Write Long") {
        $1.checkPrepared($0, writes)
      }
    case .reliableWrites:
      let writes = (0..<(1 + random.below(3))).map { _ in
        LongWrite(
          writable(end),
          offset: random.chance(0.7) ? 0 : UInt16(random.below(random.chance(0.1) ? 600 : 8)),
          value: someOctets(100))
      }
      end.start(ReliableWrites(writes), "Reliable Writes") { $1.checkPrepared($0, writes) }
    case .singleStep:
      // It leaves the prepared write.
      if random.chance(0.5) {
        end.start(
          PrepareWrite(writable(end), offset: UInt16(random.below(6)), part: someOctets(18)),
          "Prepare Write")
      } else {
        end.start(ExecuteWrite(random.chance(0.7) ? .write : .cancel), "Execute Write")
      }
    case .command: command(end)
    case .configuration: configure(end)
    case .features: announceFeatures(end)
    case .readThatGoesOn:
      end.start(ReadCharacteristicValue(handle(end)), "Read") { _, watch in
        // An operation may start another one when it ends.
        if watch.end.isUsable, watch.end.simulator.random.chance(0.3) {
          watch.end.simulator.startSomething(watch.end)
        }
      }
    }
  }

  private func readSeveral(_ end: LinkEnd) {
    let handles = (0..<(1 + random.below(5))).map { _ in handle(end) }
    if random.chance(0.5) {
      end.start(ReadMultiple(handles), "Read Multiple") { result, watch in
        guard case .success(let output) = result else { return }
        watch.expect(output.octets, [UInt8]((watch.exchanges.last?.response ?? []).dropFirst()))
      }
    } else {
      end.start(ReadMultipleVariable(handles), "Read Multiple Variable") { result, watch in
        guard case .success(let values) = result else { return }
        let ought = [UInt8]((watch.exchanges.last?.response ?? []).dropFirst())
        let are = values.flatMap { octets(UInt16($0.statedLength)) + $0.octets }
        // An incomplete length field is ignored.
        watch.expect(are, Array(ought.prefix(max(are.count, ought.count - 1))))
      }
    }
  }

  private func discoverPart(_ end: LinkEnd) {
    let limits = DiscoveryLimits(
      services: random.below(8), includes: random.below(4), characteristics: random.below(12),
      descriptors: random.below(16), values: random.below(8), requests: 1 + random.below(16))
    switch random.below(8) {
    case 0: end.start(DiscoverPrimaryServices(), "Discover Primary Services")
    case 6:
      end.start(DiscoverDatabase(limits: limits), "Discover within limits") {
        $1.checkLimits($0, limits)
      }
    case 7:
      end.start(ReadUsingUUID(.characteristic, limits: limits), "Read within limits") {
        result, watch in
        if case .success(let output) = result, output.values.count > limits.values {
          watch.end.fail("queues keep their limits", "\(output.values.count) values")
        }
      }
    case 1: end.start(DiscoverPrimaryServicesByUUID(someUUID()), "Discover Services by UUID")
    case 2:
      end.start(DiscoverCharacteristics(in: someRange(end)), "Discover Characteristics")
    case 3:
      end.start(
        DiscoverCharacteristicsByUUID(someUUID(), in: someRange(end)),
        "Discover Characteristics by UUID")
    case 4: end.start(FindIncludedServices(in: someRange(end)), "Find Included Services")
    default: end.start(DiscoverDescriptors(in: someRange(end)), "Discover Descriptors")
    }
  }

  private func command(_ end: LinkEnd) {
    let target = writable(end)
    let value = someOctets(end.judge.mtu + 3)
    let isSigned = random.chance(0.3) && end.connection.isBonded
    var pdu = [0x52] + octets(target.rawValue) + value
    let server = end.peer.device
    // The counter increases whether the server accepts the command or not.
    let counter = end.device.views[server.number]?.signCounter ?? 0
    let key = Device.signingKey(of: end.device)
    if isSigned {
      end.device.views[server.number, default: Device.View()].signCounter += 1
      pdu[0] = 0xD2
      pdu += Signature.compute(over: pdu.span.bytes, counter: counter, key: key)
    }
    let end = isSigned ? end : end.side.carrier(ofCommandsTo: target)
    let fits = pdu.count <= end.judge.mtu && value.count <= 512
    let mayRefuse =
      end.session.bearer.outbox.byteCount >= end.session.bearer.configuration.outboxLimit
    end.judge.commands.append(pdu)
    var isSent = false
    var error: ProcedureError?
    end.perform {
      do throws(ProcedureError) {
        isSent =
          isSigned
          ? try end.session.writeSigned(target, value.span.bytes, counter: counter, key: key)
          : try end.session.writeWithoutResponse(target, value.span.bytes)
      } catch let failure {
        error = failure
      }
      if !isSent { end.judge.commands.removeAll { $0 == pdu } }
    }
    let isOffered = !isSigned || end.session.bearer.configuration.channel == .fixed
    if isSent != (fits && isOffered && !mayRefuse) {
      end.fail(
        "commands are taken while there is room", "\(hex(pdu)) was taken: \(isSent) \(error as Any)"
      )
    }
  }

  /// Writes a Client Characteristic Configuration.
  private func configure(_ end: LinkEnd) {
    guard let model = end.peer.device.model else { return }
    let rows = model.rows.filter { $0.configuration != nil }
    guard !rows.isEmpty else { return }
    let row = rows[random.below(rows.count)]
    let value: [UInt8] = [
      random.chance(0.15) ? 0 : random.chance(0.1) ? 4 : UInt8(1 + random.below(3)), 0,
    ]
    let isServiceChanged = row.type == ModelRow.serviceChanged
    let bits = isServiceChanged && random.chance(0.8) ? [2, 0] : value
    end.start(
      WriteValue(AttributeHandle(row.configuration ?? 0), value: bits), "Configure"
    ) { result, watch in
      guard isServiceChanged, case .success = result else { return }
      let number = watch.end.peer.device.number
      watch.end.device.views[number, default: Device.View()].serviceChanged = row.handle
    }
  }

  private func announceFeatures(_ end: LinkEnd) {
    let features = UInt8(random.below(8))
    let handle = AttributeHandle(
      someHandle(end) { if case .features = $0.kind { true } else { false } })
    end.start(WriteValue(handle, value: [features]), "Announce Features")
  }

  /// Sends PDUs that no client would send.
  private func sendRaw(_ end: LinkEnd) {
    for _ in 0..<(1 + random.below(random.chance(0.2) ? 20 : 2)) {
      var pdu: [UInt8]
      switch random.below(7) {
      case 6:
        // Exchange MTU again, with any value.
        pdu = [0x02] + octets(UInt16(random.below(600)))
      case 4:
        // Values by type, some of which cannot be read.
        let row = end.peer.device.model?.rows[random.below(end.peer.device.model?.rows.count ?? 1)]
        pdu = [0x08, 1, 0] + rangeEnd(row) + (row?.type ?? ModelRow.primary)
      case 5:
        let row = end.peer.device.model?.rows[random.below(end.peer.device.model?.rows.count ?? 1)]
        pdu = [0x06, 1, 0] + rangeEnd(row) + (row?.type ?? ModelRow.primary).prefix(2)
        if case .stored(let value, _)? = row?.kind { pdu += value.prefix(60) }
      case 0: pdu = [UInt8(truncatingIfNeeded: random.next())] + someOctets(40)
      case 1:
        let opcodes: [UInt8] = [
          0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x1E, 0x20, 0x52, 0xD2,
          0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x1B, 0x1D, 0x21,
          0x23,
        ]
        pdu = [opcodes[random.below(opcodes.count)]] + octets(someHandle(end)) + someOctets(30)
      case 2:
        let requests: [UInt8] = [0x04, 0x08, 0x10]
        pdu = [requests[random.below(3)]] + octets(someHandle(end)) + octets(someHandle(end))
        if pdu[0] != 0x04 { pdu += random.chance(0.5) ? ModelRow.primary : someUUID().octets }
      default: pdu = [0x0A] + octets(someHandle(end))
      }
      guard end.isUsable else { return }
      count(.rawPDUs)
      end.judge.rawPDUs.append(pdu)
      end.perform {
        end.session.bearer.transmitRaw(pdu.span.bytes)
      }
    }
  }
}

/// The end of a range that contains this row: at the row itself for every second one.
private func rangeEnd(_ row: ModelRow?) -> [UInt8] {
  guard let row, row.handle & 1 == 0 else { return [0xFF, 0xFF] }
  return octets(row.handle)
}

extension ModelRow.Kind {
  /// Whether a client may be able to write it.
  var isValue: Bool {
    switch self {
    case .stored, .application, .configuration, .features: true
    case .constant, .hash: false
    }
  }
}
