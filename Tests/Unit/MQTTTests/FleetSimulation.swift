import AttoGateway
import Glibc

@testable import AttoMQTT

/// A fleet in virtual time: gateways with their decisions and their queues, devices that advertise until
/// they are connected, and a broker with latency.
struct FleetSimulation {
  /// Milliseconds until a device notices that its gateway has died.
  static let supervision: Int64 = 4000

  struct Gateway {
    var isAlive = true
    /// Changes with each life, so that events of a former one are ignored.
    var life = 0
    var machine: Fleet
    var bench = OutboxBench()
    var place: (x: Double, y: Double)
  }

  struct Device {
    var holder: Int?
    var freeAt: Int64 = 0
    var count = 0
    var place: (x: Double, y: Double)
    /// The gateways that hear it, with the mean strength.
    var ears: [(gateway: Int, strength: Double)] = []
    /// Gateways that try to connect.
    var wanted: Set<Int> = []
    var orphanSince: Int64?
  }

  enum Event {
    case advertise(Int)
    case value(Int)
    case tick(Int, life: Int)
    case digest(Fleet.Digest, to: Int)
    case will(Int, life: Int)
    case kill
    case revive(Int)
    case acknowledge(Int, life: Int)
    case disk(Int, life: Int)
  }

  var random: SplitMix
  var now: Int64 = 0
  var events = Heap()
  var gateways: [Gateway] = []
  var devices: [Device] = []
  let names: [String]
  let numbers: [String: Int]

  var takeovers: [Int64] = []
  var kills = 0
  var sent = 0
  var twoHolders = 0
  var lostKept = 0
  var lostUnkept = 0
  var duplicates = 0
  var orphans = 0

  init(gateways count: Int, devices deviceCount: Int, seed: UInt64) {
    var random = SplitMix(seed)
    names = (0..<deviceCount).map { "d\($0)" }
    numbers = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
    gateways = (0..<count).map { index in
      var machine = Fleet(name: "g\(index)", slots: 64)
      for device in 0..<deviceCount { machine.add("d\(device)") }
      return Gateway(machine: machine, place: (random.fraction() * 60, random.fraction() * 60))
    }
    for _ in 0..<deviceCount {
      var device = Device(place: (random.fraction() * 60, random.fraction() * 60))
      for (index, gateway) in gateways.enumerated() {
        let distance = max(
          1, hypot(gateway.place.x - device.place.x, gateway.place.y - device.place.y))
        let strength = -45 - 30 * log10(distance)
        if strength > -92 { device.ears.append((index, strength)) }
      }
      devices.append(device)
    }
    self.random = random
  }

  mutating func run(minutes: Int) {
    for index in gateways.indices { at(Int64(random.below(500)), .tick(index, life: 0)) }
    for index in devices.indices {
      at(Int64(random.below(1000)), .advertise(index))
      at(Int64(random.below(20_000)), .value(index))
    }
    at(20_000, .kill)
    let end = Int64(minutes) * 60_000
    while let (time, event) = events.popFirst(), time <= end {
      now = time
      handle(event)
    }
    finish()
  }

  private mutating func at(_ delay: Int64, _ event: Event) { events.insert(now + delay, event) }

  private mutating func latency() -> Int64 { 5 + Int64(random.below(45)) }

  private mutating func handle(_ event: Event) {
    switch event {
    case .advertise(let device): advertise(device)
    case .value(let device): sendValue(device)
    case .tick(let gateway, let life):
      guard gateways[gateway].life == life, gateways[gateway].isAlive else { return }
      tick(gateway)
      at(gateways[gateway].machine.isBusy ? 500 : 1500, .tick(gateway, life: life))
    case .digest(let digest, let gateway):
      guard gateways[gateway].isAlive else { return }
      gateways[gateway].machine.receive(digest, at: now)
    case .will(let gateway, let life):
      guard gateways[gateway].life == life else { return }
      for other in gateways.indices where gateways[other].isAlive {
        gateways[other].machine.gone("g\(gateway)")
      }
    case .kill: kill()
    case .revive(let gateway): revive(gateway)
    case .acknowledge(let gateway, let life):
      guard gateways[gateway].life == life else { return }
      gateways[gateway].bench.now = now
      gateways[gateway].bench.acknowledge()
    case .disk(let gateway, let life):
      guard gateways[gateway].life == life else { return }
      gateways[gateway].bench.now = now
      let before = gateways[gateway].bench.inFlight.count
      gateways[gateway].bench.pump()
      gateways[gateway].bench.finishDisk()
      acknowledgeLater(gateway, gateways[gateway].bench.inFlight.count - before)
      if gateways[gateway].bench.outbox.count > 0 { at(20, .disk(gateway, life: life)) }
    }
  }

  // MARK: - Devices

  private mutating func advertise(_ device: Int) {
    at(900 + Int64(random.below(200)), .advertise(device))
    guard devices[device].holder == nil, now >= devices[device].freeAt else { return }
    for ear in devices[device].ears where gateways[ear.gateway].isAlive {
      let strength = Int(ear.strength + random.fraction() * 6 - 3)
      gateways[ear.gateway].machine.heard(names[device], strength, at: now)
    }
    // One of those that try gets the link, most of the time.
    let wanted = devices[device].wanted.filter { gateways[$0].isAlive }.sorted()
    guard !wanted.isEmpty, random.below(10) > 0 else { return }
    let gateway = wanted[random.below(wanted.count)]
    if devices[device].holder != nil { twoHolders += 1 }
    devices[device].holder = gateway
    gateways[gateway].machine.linked(names[device], true, at: now)
    if let since = devices[device].orphanSince { takeovers.append(now - since) }
    devices[device].orphanSince = nil
  }

  private mutating func sendValue(_ device: Int) {
    at(20_000, .value(device))
    guard let gateway = devices[device].holder, gateways[gateway].isAlive else { return }
    devices[device].count += 1
    sent += 1
    let before = gateways[gateway].bench.inFlight.count
    gateways[gateway].bench.now = now
    gateways[gateway].bench.add(device << 32 | devices[device].count)
    acknowledgeLater(gateway, gateways[gateway].bench.inFlight.count - before)
    at(60, .disk(gateway, life: gateways[gateway].life))
  }

  private mutating func acknowledgeLater(_ gateway: Int, _ count: Int) {
    for _ in 0..<max(0, count) {
      // Some acknowledgements are slow, and such values go to the disk.
      let time = random.below(10) == 0 ? 200 : 2 * latency()
      at(time, .acknowledge(gateway, life: gateways[gateway].life))
    }
  }

  // MARK: - Gateways

  private mutating func tick(_ gateway: Int) {
    for action in gateways[gateway].machine.tick(at: now) {
      switch action {
      case .connect(let name): devices[numbers[name]!].wanted.insert(gateway)
      case .release(let name):
        let device = numbers[name]!
        devices[device].wanted.remove(gateway)
        if devices[device].holder == gateway { devices[device].holder = nil }
      case .publish(let digest):
        for other in gateways.indices where other != gateway && gateways[other].isAlive {
          at(latency(), .digest(digest, to: other))
        }
      }
    }
  }

  private mutating func kill() {
    at(10_000 + Int64(random.below(20_000)), .kill)
    let alive = gateways.indices.filter { gateways[$0].isAlive }
    guard alive.count > 12 else { return }
    let gateway = alive[random.below(alive.count)]
    kills += 1
    gateways[gateway].isAlive = false
    gateways[gateway].life += 1
    countUnkept(gateway)
    for device in devices.indices {
      devices[device].wanted.remove(gateway)
      guard devices[device].holder == gateway else { continue }
      devices[device].holder = nil
      devices[device].freeAt = now + Self.supervision
      let isHeard = devices[device].ears.contains { gateways[$0.gateway].isAlive }
      devices[device].orphanSince = isHeard ? now : nil
    }
    // A killed process closes its socket.
    at(latency(), .will(gateway, life: gateways[gateway].life))
    at(10_000 + Int64(random.below(60_000)), .revive(gateway))
  }

  private mutating func countUnkept(_ gateway: Int) {
    let bench = gateways[gateway].bench
    let arrived = Set(bench.numbers)
    let kept = Set(bench.disk.joined().map(\.payload))
    lostUnkept +=
      gateways[gateway].bench.outbox.count
      - bench.disk.joined().count {
        !arrived.contains(Int(String(decoding: $0.payload, as: UTF8.self))!)
      }
      - bench.inFlight.count { !kept.contains($0.value.payload) }
  }

  private mutating func revive(_ gateway: Int) {
    gateways[gateway].isAlive = true
    gateways[gateway].life += 1
    gateways[gateway].bench.now = now
    gateways[gateway].bench.crash()
    gateways[gateway].bench.connect()
    var machine = Fleet(name: "g\(gateway)", slots: 64)
    for name in names { machine.add(name) }
    gateways[gateway].machine = machine
    let life = gateways[gateway].life
    at(0, .tick(gateway, life: life))
    at(10, .disk(gateway, life: life))
    // Retained digests.
    for other in gateways.indices where other != gateway && gateways[other].isAlive {
      gateways[other].machine.announce()
    }
  }

  // MARK: - Result

  private mutating func finish() {
    for index in gateways.indices {
      let kept = Set(gateways[index].bench.disk.joined().map(\.number))
      if !gateways[index].isAlive { gateways[index].bench.crash() }
      gateways[index].bench.drain()
      let arrived = gateways[index].bench.arrived
      lostKept += kept.subtracting(arrived.map(\.number)).count
      duplicates += arrived.count - Set(arrived.map(\.payload)).count
    }
    // Devices that nobody took although somebody hears them.
    orphans = devices.count { $0.orphanSince.map { now - $0 > 120_000 } ?? false }
  }

  func percentile(_ fraction: Double) -> Int64 {
    let sorted = takeovers.sorted()
    return sorted.isEmpty
      ? .max : sorted[min(sorted.count - 1, Int(fraction * Double(sorted.count)))]
  }

  var report: String {
    """
    \(kills) gateways killed, \(takeovers.count) devices taken over: p50 \(percentile(0.5)) ms, \
    p99 \(percentile(0.99)) ms; \(sent) values: \(lostKept) kept ones lost, \(lostUnkept) lost \
    before they were kept, \(duplicates) duplicates
    """
  }
}

/// Events by time, in the order of their insertion where that is the same.
struct Heap {
  private var items: [(time: Int64, order: Int, event: FleetSimulation.Event)] = []
  private var count = 0

  mutating func insert(_ time: Int64, _ event: FleetSimulation.Event) {
    count += 1
    items.append((time, count, event))
    var child = items.count - 1
    while child > 0, precedes(child, (child - 1) / 2) {
      items.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func popFirst() -> (Int64, FleetSimulation.Event)? {
    guard let first = items.first else { return nil }
    let last = items.removeLast()
    if !items.isEmpty {
      items[0] = last
      var parent = 0
      while true {
        var least = parent
        for child in [2 * parent + 1, 2 * parent + 2]
        where child < items.count && precedes(child, least) { least = child }
        if least == parent { break }
        items.swapAt(parent, least)
        parent = least
      }
    }
    return (first.time, first.event)
  }

  private func precedes(_ a: Int, _ b: Int) -> Bool {
    (items[a].time, items[a].order) < (items[b].time, items[b].order)
  }
}
