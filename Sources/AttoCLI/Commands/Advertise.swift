import Atto
import Files

/// `atto advertise`: an advertisement on the air, and nothing behind it.
enum AdvertiseCommand: Command {
  static let name = "advertise"
  static let examples = [
    "atto advertise air:Lamp --name Lamp --service 180F --for 60"
  ]
  static let summary = "Advertises until it is interrupted."
  static let usage = "[air:[NAME] | le:[@hciN]] [OPTIONS]"
  static let notes = Radios.notes
  static let options =
    [
      OptionSpec("name", "NAME", "the local name; shortened where there is no room for all of it"),
      OptionSpec("service", "UUID", "a service; may be given several times"),
      OptionSpec("appearance", "NUMBER", "what the device looks like, such as 0x0341"),
      OptionSpec("tx-power", "DBM", "the transmit power"),
      OptionSpec("manufacturer", "COMPANY:HEX", "manufacturer data, such as 0059:0102"),
      OptionSpec("interval", "MILLISECONDS", "20 to 10240 (default 100)"),
      OptionSpec("rssi", "DBM", "what scanners of the virtual air are shown (default -50)"),
      OptionSpec("connectable", nil, "take connections; they meet an empty server"),
      OptionSpec("for", "SECONDS", "end after this time"),
      .json,
    ] + PairingOptions.specs

  private struct Line: Encodable {
    let event: String
    let address: String
    let name: String?
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    try arguments.allow(words: 1)
    let endpoint = try await Radios.endpoint(arguments.words.first, on: loop)
    let ownName = if case .air(let name) = endpoint { name } else { "" }
    let data = try data(arguments, ownName)
    var parameters = AdvertisingParameters(data)
    parameters.isConnectable = arguments.has("connectable")
    if let interval = try arguments.integer("interval", in: 20...10240) {
      parameters.interval = .milliseconds(interval)
    }
    if let rssi = try arguments.integer("rssi", in: -127...20) {
      parameters.simulatedRSSI = Int8(rssi)
    }
    let time = try arguments.duration("for")
    ShortenedName.tell(data, isConnectable: parameters.isConnectable, name)
    let pairing = try PairingOptions(arguments)
    if pairing.isStated, !parameters.isConnectable {
      throw UsageError("--io wants --connectable: nobody pairs without a connection")
    }
    let end = AsyncThrowingStream<Void, any Error>.makeStream()
    let timing = Task(executorPreference: loop.tasks) {
      guard let time else { return }
      try await loop.sleep(for: time)
      end.continuation.finish()
    }
    defer { timing.cancel() }
    if parameters.isConnectable {
      let server = LocalServer(loop: loop)
      let isJSON = arguments.has("json")
      let agent = ConsoleAgent(options: pairing, loop: loop) { report in
        if isJSON { try? Terminal.print(json: report.line) } else { Terminal.print(report.text) }
      }
      let listener = try await server.listen(
        on: endpoint, advertising: parameters,
        agent: endpoint.isAir && !pairing.isStated ? nil : agent,
        onEnd: {
          end.continuation.finish(throwing: $0)
        })
      if !listener.isAdvertised { throw CheckFailure(message: listener.notice ?? "") }
      if let notice = listener.notice { Terminal.note("atto advertise: \(notice)") }
      try announce(listener.endpoint, data, arguments)
      // Being interrupted ends it as well, and is how this command ends.
      for try await _ in end.stream {}
      listener.stop()
      return
    }
    let adapter = try await Radios.open(endpoint, on: loop)
    let advertisement = try await adapter.advertise(parameters)
    let watching = Task(executorPreference: loop.tasks) {
      for await _ in advertisement.links {}
      if let reason = await (adapter as? KernelAdapter)?.endReason {
        end.continuation.finish(throwing: reason)
      }
    }
    defer { watching.cancel() }
    try announce(await adapter.address.description, data, arguments)
    for try await _ in end.stream {}
    advertisement.stop()
    await adapter.close()
  }

  private static func announce(
    _ address: String, _ data: AdvertisingData, _ arguments: Arguments
  ) throws {
    if arguments.has("json") {
      try Terminal.print(
        json: Line(event: "advertising", address: address, name: data.localName))
    } else {
      Terminal.print("advertising as \(address)")
    }
  }

  private static func data(_ arguments: Arguments, _ endpoint: String) throws -> AdvertisingData {
    var data = AdvertisingData()
    let isName = !endpoint.isEmpty && !endpoint.contains(":")
    data.localName = arguments.value("name") ?? (isName ? endpoint : nil)
    for text in arguments.all("service") {
      guard let uuid = BluetoothUUID(text) else {
        throw UsageError("--service wants a UUID such as 180D or in full, not \"\(text)\"")
      }
      data.serviceUUIDs.append(uuid)
    }
    if let text = arguments.value("appearance") {
      let number =
        text.lowercased().hasPrefix("0x") ? UInt16(text.dropFirst(2), radix: 16) : UInt16(text)
      guard let number else {
        throw UsageError("--appearance wants a number such as 0x0341, not \"\(text)\"")
      }
      data.appearance = number
    }
    data.txPower = try arguments.integer("tx-power", in: -127...127).map { Int8($0) }
    for text in arguments.all("manufacturer") {
      let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
      guard parts.count == 2, let company = UInt16(parts[0], radix: 16) else {
        throw UsageError("--manufacturer wants COMPANY:HEX such as 0059:0102, not \"\(text)\"")
      }
      data.manufacturerData.append(
        AdvertisingData.ManufacturerData(company: company, try octets(argument: parts[1])))
    }
    return data
  }
}
