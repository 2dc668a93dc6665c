import Atto
import AttoCommandLine
import AttoLinkTiming
import AttoPeers
import AttoSensors

/// `atto scan`: the devices that advertise.
package enum ScanCommand: Command {
  private static let time = Option.seconds("for", "End after this time (default: never).")
    .formerly("timeout")
  private static let count = Option.integer("count", "N", in: 1...Int.max, "End after N devices.")
  private static let service = Option.uuid(
    "service", .service, summary: "Only devices that advertise this service.")
  private static let name = Option.text("name", "NAME", "Only devices with this name.")
  private static let address = Option.addresses(
    "address", "Only the device with this address, of either kind unless it ends in /random.")
  private static let rssi = Option.integer(
    "rssi", "DBM", in: -127...20, "Only devices received at least this strong.")
  private static let duplicates = Option.flag(
    "duplicates", "Print every advertisement instead of the changes.")
  private static let decode = Option.flag(
    "decode", "Decode the advertisements of sensors: BTHome, Ruuvi, Xiaomi, Govee and others.")
  private static let passive = Option.flag(
    "passive", "Do not request scan responses: le: requires Linux 5.10.")

  private static let window = time(
    "scan-window", "Listen for this time of each --scan-interval: le: requires Linux 5.9.")
  private static let interval = time(
    "scan-interval", "Begin to listen once in this time, with --scan-window.")

  private static func time(_ name: String, _ summary: String) -> Option<Duration?> {
    .value(name, "TIME", summary, expected: "a time from 2.5ms to 10.24s") { text in
      LinkParameters.nanoseconds(text).map { .nanoseconds($0) }
    }
  }

  package static let description = CommandDescription(
    "scan", "Scan for advertising devices.", synopsis: ["[air: | le:[@hciN]] [OPTIONS]"],
    arguments: [.radio], details: Radios.details,
    options: [
      time, count, service, name, address, rssi, duplicates, passive, window, interval, decode,
      SensorOptions.keys, SensorOptions.keyFile, AdvertisingKeyOptions.several, CommonOptions.json,
    ],
    timeLimit: .open(unless: [time, count]), runsInSession: true,
    examples: [
      "atto scan air: --for 1", "atto scan le:@hci0 --service 180D --count 1 --json",
      "atto scan --decode --for 30",
      "atto scan le: --passive --scan-window 60ms --scan-interval 60ms",
    ])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let endpoint = try await Radios.endpoint(arguments.words.first, on: loop)
    if endpoint.isAir, endpoint != .air("") {
      throw UsageError(
        "scan cannot use \(endpoint): a scan has no name",
        hint: "atto scan air: --name NAME and --address ADDRESS select devices")
    }
    var options = ScanOptions()
    options.timeout = arguments[time]
    if let uuid = arguments[service] { options.services = [uuid] }
    options.name = arguments[name]
    if let addresses = arguments[address] { options.addresses = addresses }
    options.minimumRSSI = arguments[rssi].map { Int8($0) }
    options.reportsDuplicates = arguments[duplicates]
    options.isActive = !arguments[passive]
    options.timing = try timing(arguments, at: endpoint)
    let limit = arguments[count]
    let results = Results(arguments)
    if !arguments[decode] { try arguments.forbid(SensorOptions.all, "requires --decode") }
    let sensors = arguments[decode] ? try SensorDecoder(arguments) : nil
    let keys = arguments[AdvertisingKeyOptions.several]

    let adapter = try await Radios.open(endpoint, on: loop)
    var found = 0
    let waiting = WaitingNote(
      "waiting for advertisements: none received yet (Ctrl-C ends the command)", on: loop)
    defer { waiting.end() }
    await arguments.place?.begun()
    for try await event in adapter.scan(options) {
      waiting.end()
      show(event, results, sensors, keys)
      await Terminal.room()
      if case .found = event { found += 1 }
      if found == limit { break }
    }
    await adapter.close()
    if let limit, found < limit {
      throw CheckFailure(message: "found \(found) of \(limit) devices")
    }
  }

  private static func timing(
    _ arguments: Arguments, at endpoint: Endpoint
  ) throws(UsageError) -> ScanTiming? {
    let (window, interval) = (arguments[window], arguments[interval])
    guard window != nil || interval != nil else { return nil }
    guard let window, let interval else {
      throw UsageError("--scan-window and --scan-interval require each other")
    }
    if endpoint.isAir {
      throw UsageError("--scan-window requires an le: adapter: a simulated radio hears everything")
    }
    guard let timing = ScanTiming(interval: interval, window: window) else {
      throw UsageError(
        "--scan-window and --scan-interval must be from 2.5ms to 10.24s, the window at most the interval"
      )
    }
    return timing
  }

  private static func show(
    _ event: ScanEvent, _ results: Results, _ sensors: SensorDecoder?,
    _ keys: [AdvertisingKeyMaterial]
  ) {
    switch event {
    case .found(let discovery): show(discovery, "found", results, sensors, keys)
    case .seen(let discovery): show(discovery, "seen", results, sensors, keys)
    case .gone(let address):
      results.print("\(address)  gone", json: ["event": "gone", "address": address.description])
    case .missed(let count):
      Terminal.note("warning: \(Shown.count(count, "event")) lost here")
    }
  }

  private static func show(
    _ discovery: Discovery, _ event: String, _ results: Results, _ sensors: SensorDecoder?,
    _ keys: [AdvertisingKeyMaterial]
  ) {
    var data = discovery.data
    let encryption = AdvertisingKeyOptions.decrypt(&data, keys)
    let sensor = sensors?.decode(data, from: discovery.address)
    let services = data.serviceUUIDs.map { Shown.named($0, .service) }.joined(separator: ", ")
    results.print(
      "\(discovery.address)  " + (discovery.rssi == 127 ? "? dBm  " : "\(discovery.rssi) dBm  ")
        + (data.localName.map { Shown.name($0) } ?? "(no name)")
        + (services.isEmpty ? "" : "  [\(services)]")
        + (discovery.isConnectable ? "" : "  not connectable")
        + (encryption.map { "  \($0)" } ?? "")
        + (sensor.map { "  \($0.text)" } ?? ""),
      json: [
        "event": event, "address": discovery.address.description,
        "rssi": discovery.rssi == 127 ? nil : Int(discovery.rssi),
        "connectable": discovery.isConnectable, "name": data.localName,
        "services": data.serviceUUIDs.map { Shown.json($0) },
        "txPower": data.txPower.map { Int($0) }, "appearance": data.appearance.map { Int($0) },
        "advertisement": Shown.hex(discovery.advertisement),
        "scanResponse": Shown.hex(discovery.scanResponse), "sensor": sensor?.json,
        "encryption": encryption,
      ])
  }
}
