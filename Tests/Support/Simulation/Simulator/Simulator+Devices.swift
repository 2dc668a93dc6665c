import AttoATT
import AttoGATT
import AttoLinks

// Devices with databases, and the links between them.

extension Simulator {
  func begin() {
    for number in 0..<plan.devices { devices.append(makeDevice(number)) }
    for device in devices { agenda.add(.act(device), at: now + someDelay(20)) }
    // Little happens without a link.
    connect(devices[0], devices[1])
  }

  private var isTight: Bool { plan.hazards.contains(.tightLimits) && random.chance(0.5) }

  private func makeDevice(_ number: Int) -> Device {
    let mtus = [23, 24, 48, 100, 247, 517]
    let configuration = BearerConfiguration(
      receiveMTU: mtus[random.below(mtus.count)],
      maximumWaiting: isTight ? 1 + random.below(4) : 256,
      maximumPipelined: isTight ? random.below(3) : 16,
      outboxLimit: isTight ? 40 + random.below(200) : 8192)
    var configured = configuration
    configured.linkMayBeReused = random.chance(0.15)
    let application = SimulatedApplication()
    let isRogue = plan.hazards.contains(.rogues) && number == plan.devices - 1
    guard number == 0 || !random.chance(0.12) else {
      return Device(
        self, number: number, server: nil, model: nil, application: application,
        configuration: configured, isRogue: isRogue)
    }
    var limits = ServerLimits()
    if isTight {
      limits = ServerLimits(
        preparedWritesPerClient: 1 + random.below(4), preparedBytesPerClient: 20 + random.below(80),
        preparedBytesShare: random.below(30), preparedBytes: 40 + random.below(100),
        clients: 1 + random.below(2))
    }
    let server = Server(application: application, limits: limits)
    let device = Device(
      self, number: number, server: server, model: ServerModel(limits: limits),
      application: application, configuration: configured, isRogue: isRogue)
    device.add(
      ServiceDefinition(
        0x1800,
        characteristics: [
          CharacteristicDefinition(
            0x2A00, properties: .read, value: .constant([0x41 + UInt8(number)]))
        ]))
    if random.chance(0.85) { device.add(.genericAttribute()) }
    for _ in 0..<(1 + random.below(4)) { device.add(someService(of: device, at: nil)) }
    return device
  }

  func someUUID() -> BluetoothUUID {
    random.chance(0.6)
      ? BluetoothUUID(UInt16(0xFF00 + random.below(12)))
      : BluetoothUUID(high: 0x1234_5678_0000_4000 + UInt64(random.below(6)), low: 0x8765_4321)
  }

  private func someAccess() -> AttributePermissions.Access {
    if random.chance(0.05) { return .denied }
    guard plan.hazards.contains(.security), random.chance(0.4) else { return .open }
    let levels: [SecurityLevel] = [.low, .medium, .high, .fips]
    return .requires(
      .init(
        security: levels[random.below(4)], keySize: random.chance(0.3) ? 16 : 0,
        authorization: random.chance(0.4)))
  }

  private func someValue() -> ValueDefinition {
    let most = [1, 8, 20, 40, 512][random.below(5)]
    switch random.below(8) {
    case 0: return .constant(someOctets(512))
    case 1, 2: return .application(ValueLimits(maximumLength: most))
    case 3:
      return .stored(
        someOctets(most), ValueLimits(maximumLength: most, isFixedLength: true))
    default: return .stored(someOctets(most), ValueLimits(maximumLength: most))
    }
  }

  func someService(of device: Device, at handle: AttributeHandle?) -> ServiceDefinition {
    var service = ServiceDefinition(someUUID(), isPrimary: random.chance(0.85), handle: handle)
    if let model = device.model, random.chance(0.3) {
      let targets = model.rows.filter(\.isService)
      service.includes = [
        IncludeDefinition(service: AttributeHandle(targets[random.below(targets.count)].handle))
      ]
    }
    for _ in 0..<random.below(4) {
      var properties: CharacteristicProperties = []
      let offers: [CharacteristicProperties] = [
        .read, .write, .writeWithoutResponse, .notify, .indicate, .authenticatedSignedWrites,
      ]
      for property in offers where random.chance(0.5) { properties.insert(property) }
      var characteristic = CharacteristicDefinition(
        someUUID(), properties: properties, value: someValue(),
        permissions: random.chance(0.5)
          ? nil : AttributePermissions(read: someAccess(), write: someAccess()))
      if random.chance(0.3) {
        characteristic.descriptors.append(
          DescriptorDefinition(0x2901, value: someValue(), permissions: .readWrite))
      }
      if random.chance(0.2) {
        characteristic.descriptors.append(
          DescriptorDefinition(0x2900, value: .constant([UInt8(random.below(4)), 0])))
      }
      if random.chance(0.1) {
        characteristic.descriptors.append(
          DescriptorDefinition(someUUID(), value: someValue(), permissions: .readWrite))
      }
      service.characteristics.append(characteristic)
    }
    return service
  }

  // MARK: Links

  func connect(_ central: Device, _ peripheral: Device) {
    guard central !== peripheral, connections.count < 8,
      !central.connections.contains(where: {
        !$0.isOver && $0.other(than: central) === peripheral
      })
    else { return }
    count(.connections)
    connectionCount += 1
    let isHonest = !central.isRogue && !peripheral.isRogue
    let drops = plan.hazards.contains(.drops) && random.chance(0.5)
    let damage = plan.hazards.contains(.damage) && random.chance(0.5)
    let connection = Connection(
      number: connectionCount, central: central, peripheral: peripheral,
      // Bonds do not change.
      isBonded: (central.number * 7 + peripheral.number * 7 + Int(plan.seed & 3)) % 3 != 0,
      isTrusted: isHonest && !damage, drops: drops, damage: damage)
    note { "link \(connection.number) \(central.name) to \(peripheral.name)" }
    if plan.hazards.contains(.security), random.chance(0.3) {
      connection.security = LinkSecurity(level: .medium, keySize: 7)
    }
    connection.centralClient = peripheral.admit(
      central, connection.security, isBonded: connection.isBonded)
    connection.peripheralClient = central.admit(
      peripheral, connection.security, isBonded: connection.isBonded)
    // A server without room for another client closes the link.
    let isRefused =
      (peripheral.server != nil && connection.centralClient == nil)
      || (central.server != nil && connection.peripheralClient == nil)
    if isRefused {
      if let (engine, model) = connection.centralClient {
        peripheral.forget(engine, model, peer: central, isBonded: connection.isBonded)
      }
      if let (engine, model) = connection.peripheralClient {
        central.forget(engine, model, peer: peripheral, isBonded: connection.isBonded)
      }
      return
    }
    if !connection.isBonded {
      central.views[peripheral.number] = nil
      peripheral.views[central.number] = nil
    }
    makeSides(connection)
    connections.append(connection)
    central.connections.append(connection)
    peripheral.connections.append(connection)
    if plan.hazards.contains(.enhanced), random.chance(0.7) { openBearers(connection) }
    for side in connection.sides { side.pump() }
    if plan.hazards.contains(.losses), random.chance(0.5) {
      agenda.add(.lose(connection), at: now + someDelay(random.chance(0.3) ? 100 : 5000))
    }
  }

  private func makeSides(_ connection: Connection) {
    let (first, second, _) = makeLinks(connection)
    for (isCentral, link) in [(true, first), (false, second)] {
      let device = isCentral ? connection.central : connection.peripheral
      let client = connection.client(of: device)
      let session = Session(
        device.configuration, server: device.server, client: client?.engine)
      let side = Side(connection, device, isCentral: isCentral, session)
      connection.sides.append(side)
      append(session, device.configuration, link, client?.model, to: side)
    }
  }

  func append(
    _ session: Session, _ configuration: BearerConfiguration, _ link: FaultyLink,
    _ client: ModelClient?, to side: Side
  ) {
    let (device, number) = (side.device, side.connection.number)
    let judge = Judge(
      configuration, isTrusted: side.connection.isTrusted, isRogue: device.isRogue,
      model: device.model, client: client
    ) { rule, what in
      self.fail(rule, "link \(number) \(device.name): \(what)")
    }
    side.append(LinkEnd(side, session: session, link: link, judge: judge))
    link.advance(to: now)
  }

  /// The ends of a link for a bearer, with faults, and ATT_MTU if the bearer is enhanced.
  func makeLinks(_ connection: Connection) -> (FaultyLink, FaultyLink, mtu: Int) {
    let capacity = plan.hazards.contains(.tightLimits) ? 1 + random.below(3) : 64
    let (first, second) = MemoryLink.pair(capacity: capacity)
    var faults = Faults()
    if plan.hazards.contains(.delays) {
      faults.delay = 0.5
      faults.delays = .zero ... .milliseconds(random.chance(0.1) ? 4000 : 60)
    }
    if connection.drops { faults.drop = 0.03 }
    if connection.damage { (faults.cut, faults.duplicate) = (0.02, 0.02) }
    if plan.hazards.contains(.losses), random.chance(0.15) {
      faults.disconnectAfter = random.below(60)
    }
    let mtu = 64 + random.below(400)
    return (
      FaultyLink(first, seed: random.next(), outgoing: faults, longestPDU: 1024),
      FaultyLink(second, seed: random.next(), outgoing: faults, longestPDU: 1024), mtu
    )
  }
}
