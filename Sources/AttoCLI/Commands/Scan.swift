import Atto

/// `atto scan`: who is on the air.
enum ScanCommand: Command {
  static let name = "scan"
  static let examples = [
    "atto scan air: --timeout 1",
    "atto scan le:@hci0 --service 180D --count 1 --json",
  ]
  static let summary = "Devices that advertise, as they are met."
  static let usage = "[air: | le:[@hciN]] [OPTIONS]"
  static let notes = Radios.notes
  static let options = [
    OptionSpec("timeout", "SECONDS", "end after this time (default: at Ctrl-C)"),
    OptionSpec("count", "N", "end after so many devices"),
    OptionSpec("service", "UUID", "only devices that advertise this service"),
    OptionSpec("name", "NAME", "only devices of this name"),
    OptionSpec("address", "ADDRESS", "only the device with this address; /random or either kind"),
    OptionSpec("rssi", "DBM", "only devices received at least this strong"),
    OptionSpec("duplicates", nil, "every advertisement, not just changes"),
    OptionSpec("passive", nil, "do not ask for scan responses"),
    .json,
  ]

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    try arguments.allow(words: 1)
    let endpoint = try await Radios.endpoint(arguments.words.first, on: loop)
    var options = ScanOptions()
    options.timeout = try arguments.duration("timeout")
    if let uuid = try arguments.uuid("service") { options.services = [uuid] }
    options.name = arguments.value("name")
    if let addresses = try arguments.addresses("address") { options.addresses = addresses }
    options.minimumRSSI = try arguments.integer("rssi", in: -127...20).map { Int8($0) }
    options.reportsDuplicates = arguments.has("duplicates")
    options.isActive = !arguments.has("passive")
    let limit = try arguments.integer("count", in: 1...Int.max)

    let adapter = try await Radios.open(endpoint, on: loop)
    var found = 0
    let silence = SilenceNote(
      "waiting for devices that advertise: none is heard yet (Ctrl-C ends it)", on: loop)
    defer { silence.end() }
    for try await event in adapter.scan(options) {
      silence.end()
      try show(event, arguments.has("json"))
      if case .found = event { found += 1 }
      if found == limit { break }
    }
    await adapter.close()
    if let limit, found < limit {
      throw CheckFailure(message: "\(found) of \(limit) devices were met")
    }
  }

  private struct Line: Encodable {
    var event: String
    var address: String
    var rssi: Int?
    var connectable: Bool?
    var name: String?
    var services: [String]?
    var txPower: Int?
    var appearance: Int?
    var advertisement: String?
    var scanResponse: String?
  }

  private static func show(_ event: ScanEvent, _ isJSON: Bool) throws {
    switch event {
    case .found(let discovery): try show(discovery, "found", isJSON)
    case .seen(let discovery): try show(discovery, "seen", isJSON)
    case .gone(let address):
      if isJSON {
        try Terminal.print(json: Line(event: "gone", address: address.description))
      } else {
        Terminal.print("\(address)  gone")
      }
    case .missed(let count): Terminal.note("\(count) events were lost here")
    }
  }

  private static func show(
    _ discovery: Discovery, _ event: String, _ isJSON: Bool
  ) throws {
    let data = discovery.data
    if isJSON {
      return try Terminal.print(
        json: Line(
          event: event, address: discovery.address.description,
          rssi: discovery.rssi == 127 ? nil : Int(discovery.rssi),
          connectable: discovery.isConnectable, name: data.localName,
          services: data.serviceUUIDs.map { Shown.json($0) }, txPower: data.txPower.map { Int($0) },
          appearance: data.appearance.map { Int($0) },
          advertisement: Shown.hex(discovery.advertisement),
          scanResponse: Shown.hex(discovery.scanResponse)))
    }
    let services = data.serviceUUIDs.map { Shown.named($0, .service) }.joined(separator: ", ")
    Terminal.print(
      "\(discovery.address)  "
        + (discovery.rssi == 127 ? "? dBm  " : "\(discovery.rssi) dBm  ")
        + (data.localName.map { Shown.name($0) } ?? "(no name)")
        + (services.isEmpty ? "" : "  [\(services)]")
        + (discovery.isConnectable ? "" : "  not connectable"))
  }
}
