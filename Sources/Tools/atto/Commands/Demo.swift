import Atto
import AttoCommandLine
import AttoGATT
import AttoPeers
import Glibc
import Synchronization

/// `atto demo`: a scripted tour on simulated radios, both sides in one process.
///
/// The peripheral runs on a loop of its own, so that data crosses threads through sockets, as between
/// processes.
enum DemoCommand: Command {
  private static let time = Option.seconds(
    "for", default: 1, "How long to measure the throughput."
  ).formerly("seconds")

  static let description = CommandDescription(
    "demo", "Run a scripted demo on simulated radios.", synopsis: ["[OPTIONS]"],
    details: """
      The demo needs no Bluetooth. A heart-rate strap advertises on the virtual air. A central scans,
      connects, exchanges the MTU, discovers the services, reads a long value, writes one in prepared
      parts, subscribes, and measures the throughput.
      """,
    options: [time, CommonOptions.trace], examples: ["atto demo"])

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    // A virtual air of its own, apart from other radios of this user.
    let air = try TemporaryAir()
    let strap = try await DemoStrap.advertise(in: air.path)

    Terminal.print("A heart-rate strap advertises on the virtual air.")
    let radio = try Adapter.virtual(folder: air.path, loop: loop)
    let found = try await scan(radio)
    Terminal.print("Connecting.")
    var options = ConnectionOptions()
    options.exchangesMTU = true
    if arguments[CommonOptions.trace] { options.monitor = Monitor.tracer() }
    let connection = try await Connection.connect(
      to: .air(found.address.digits), options: options, adapter: radio, loop: loop)
    Terminal.print("  MTU \(try await connection.mtu) (before the exchange: 23)")

    let tour = DemoTour(connection: connection, database: try await discover(connection))
    try await tour.readLong()
    try await tour.writePrepared()
    try await tour.subscribe()
    try await tour.measure(strap, for: arguments[time])

    connection.close()
    strap.listener.stop()
    await radio.close()
  }

  private static func scan(_ radio: Adapter) async throws -> Discovery {
    var options = ScanOptions()
    options.services = [.heartRate]
    options.timeout = .seconds(10)
    Terminal.print("A central scans for service \(Shown.named(.heartRate, .service)).")
    for try await event in radio.scan(options) {
      guard case .found(let discovery) = event else { continue }
      Terminal.print(
        "  \(discovery.address)  \(Shown.name(discovery.data.localName ?? ""))  \(discovery.rssi) dBm, "
          + "\(discovery.advertisement.count + discovery.scanResponse.count)"
          + " octets of advertising data")
      return discovery
    }
    throw CheckFailure(message: "found no strap")
  }

  private static func discover(_ connection: Connection) async throws -> RemoteDatabase {
    let before = try await connection.counters.sent
    let database = try await connection.discover(readsDatabaseHash: true)
    let requests = try await connection.counters.sent - before
    Terminal.print("Discovered in \(requests) round trips:")
    for service in database.services {
      Terminal.print("  \(service.line)")
      for characteristic in service.characteristics {
        Terminal.print("                 \(Shown.named(characteristic.uuid, .characteristic))")
      }
    }
    return database
  }
}

/// The central's side of the demo, after discovery.
private struct DemoTour {
  let connection: Connection
  let database: RemoteDatabase

  private func characteristic(_ uuid: BluetoothUUID) throws -> Characteristic {
    guard let found = database.characteristic(uuid) else {
      throw CheckFailure(message: "the strap has no characteristic \(uuid)")
    }
    return found
  }

  func readLong() async throws {
    let value = try await connection.read(characteristic(DemoStrap.log))
    guard value == DemoStrap.logValue else {
      throw CheckFailure(message: "the long value differs from the strap's")
    }
    Terminal.print("Read a long value of \(value.count) octets.")
  }

  func writePrepared() async throws {
    let handle = try characteristic(DemoStrap.notes).valueHandle
    let text = Array(String(repeating: "All or nothing. ", count: 32).utf8)
    try await connection.writeLong(text, to: handle)
    guard try await connection.readLong(handle) == text else {
      throw CheckFailure(message: "the value read back differs from the value written")
    }
    Terminal.print("Wrote \(text.count) octets in prepared parts and read them back.")
  }

  func subscribe() async throws {
    let values = try await connection.subscribe(to: characteristic(.heartRateMeasurement))
    var rates: [String] = []
    for try await value in values {
      rates.append(value.value.count == 2 ? "\(value.value[1])" : "?")
      if rates.count == 5 { break }
    }
    guard rates.count == 5 else { throw CheckFailure(message: "received fewer than 5 heart rates") }
    Terminal.print("Subscribed; heart rates: \(rates.joined(separator: ", ")) per minute.")
  }

  /// Measures numbered notifications, counted by the receiver.
  func measure(_ strap: DemoStrap, for time: Duration) async throws {
    let stream = try characteristic(DemoStrap.stream)
    let counted = Mutex((values: 0, octets: 0, outOfOrder: 0))
    connection.observeValues { handle, value in
      guard handle == stream.valueHandle, value.byteCount >= 4 else { return }
      let number = value.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self)
      counted.withLock { count in
        if UInt32(littleEndian: number) != UInt32(truncatingIfNeeded: count.values) {
          count.outOfOrder += 1
        }
        count.values += 1
        count.octets += value.byteCount
      }
    }
    try await connection.write([1, 0], to: stream.cccd?.handle ?? .invalid)
    let clock = ContinuousClock()
    let start = clock.now
    let sent = try await strap.stream(size: try await connection.mtu - 3, for: time)
    // The response arrives after everything sent before it.
    _ = try await connection.readOnce(stream.valueHandle)
    let seconds = start.duration(to: clock.now) / .seconds(1)
    let count = counted.withLock { $0 }
    connection.observeValues(nil)
    guard count.values == sent, count.outOfOrder == 0 else {
      throw CheckFailure(
        message: "sent \(sent) values, received \(count.values), \(count.outOfOrder) out of order")
    }
    Terminal.print(
      "throughput: \(Decimal.text(Double(count.values) / seconds, places: 0)) notifications/s, "
        + "\(Decimal.text(Double(count.octets) / seconds / 1e6, places: 1)) MB/s "
        + "(\(count.values) of \(count.octets / max(1, count.values)) octets in "
        + "\(Decimal.text(seconds, places: 2)) s, none lost, in order)")
  }
}

private final class TemporaryAir: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/atto-demo-XXXXXX\0".utf8CString.dropLast())
    guard mkdtemp(&template) != nil else {
      throw RadioError.system("create a folder under /tmp", errno: errno)
    }
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  deinit {
    guard let folder = opendir(path) else { return }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(cString: $0.bindMemory(to: CChar.self).baseAddress!)
      }
      if name != ".", name != ".." { unlink(path + "/" + name) }
    }
    closedir(folder)
    rmdir(path)
  }
}
