import Atto
import AttoCommandLine
import AttoPeers
import AttoRadio

/// `atto advertise`: an advertisement without a GATT server.
package enum AdvertiseCommand: Command {
  private static let name = Option.text(
    "name", "NAME", "The local name; shortened if it does not fit.")
  private static let services = Option.list(
    "service", "UUID", "A service UUID.", expected: BluetoothUUID.expectation
  ) { BluetoothUUID($0) }
  private static let appearance = Option.value(
    "appearance", "NUMBER", "The appearance, such as 0x0341.", expected: "a number such as 0x0341"
  ) { UInt16(argument: $0) }
  private static let txPower = Option.integer(
    "tx-power", "DBM", in: -127...127, "The transmit power.")
  private static let manufacturer = Option.list(
    "manufacturer", "COMPANY:HEX", "Manufacturer data, such as 0059:0102.",
    expected: "COMPANY:HEX such as 0059:0102"
  ) { text in
    pair(text).flatMap { name, octets in
      UInt16(name, radix: 16).map { AdvertisingData.ManufacturerData(company: $0, octets) }
    }
  }
  private static let serviceData = Option.list(
    "service-data", "UUID:HEX", "Service data, such as FCD2:4002CA09.",
    expected: "UUID:HEX such as FCD2:4002CA09"
  ) { text in
    pair(text).flatMap { name, octets in
      BluetoothUUID(name).map { AdvertisingData.ServiceData($0, octets) }
    }
  }
  private static let interval = Option.integer(
    "interval", "MILLISECONDS", in: 20...10240, "The interval, 20 to 10240 (default: 100).")
  private static let rssi = Option.integer(
    "rssi", "DBM", in: -127...20, "The RSSI that scanners on the virtual air see (default: -50).")
  private static let connectable = Option.flag(
    "connectable", "Accept connections. Clients find an empty database.")
  private static let time = Option.seconds("for", "End after this time.")

  package static let description = CommandDescription(
    "advertise", "Advertise until interrupted.", synopsis: ["[air:[NAME] | le:[@hciN]] [OPTIONS]"],
    arguments: [.radio], details: Radios.details,
    options: [
      name, services, appearance, txPower, manufacturer, serviceData,
      AdvertisingKeyOptions.single, interval, rssi, connectable, time, CommonOptions.json,
    ], groups: [PairingOptions.group],
    timeLimit: .open(unless: [time]), delivery: .log, runsInSession: true,
    examples: ["atto advertise air:Lamp --name Lamp --service 180F --for 60"])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let endpoint = try await Radios.endpoint(arguments.words.first, on: loop)
    var data = AdvertisingData()
    data.localName = arguments[name] ?? localName(endpoint)
    data.serviceUUIDs = arguments[services]
    data.appearance = arguments[appearance]
    data.txPower = arguments[txPower].map { Int8($0) }
    data.manufacturerData = arguments[manufacturer]
    data.serviceData = arguments[serviceData]
    if let keys = arguments[AdvertisingKeyOptions.single] {
      do throws(AdvertisingDataError) {
        data = AdvertisingData(others: [try keys.encrypted(data)])
      } catch {
        throw RadioError.advertisingData(error)
      }
    }
    var parameters = AdvertisingParameters(data)
    parameters.isConnectable = arguments[connectable]
    if let interval = arguments[interval] { parameters.interval = .milliseconds(interval) }
    if let rssi = arguments[rssi] { parameters.simulatedRSSI = Int8(rssi) }
    parameters.noteShortenedName(description.name)
    let pairing = try PairingOptions(arguments)
    if pairing.isStated, !parameters.isConnectable {
      throw UsageError("--io, --yes and --refuse require --connectable")
    }
    let results = Results(arguments)
    let end = AsyncThrowingStream<Void, any Error>.makeStream()
    let timing = loop.after(arguments[time]) { end.continuation.finish() }
    defer { timing.cancel() }
    func announce(_ address: String) {
      results.print(
        "advertising as \(address)",
        json: ["event": "advertising", "address": address, "name": data.localName])
    }
    if parameters.isConnectable {
      let agent = try ConsoleAgent(arguments, on: loop) {
        results.print($0.text, json: $0.json)
      }
      var listening = ListenOptions(advertising: parameters)
      listening.setAgent(agent, at: endpoint)
      let listener = try await LocalServer(Database(), loop: loop).listen(
        on: endpoint, options: listening, onEnd: { end.continuation.finish(throwing: $0) })
      if !listener.isAdvertised { throw CheckFailure(message: listener.notice ?? "") }
      if let notice = listener.notice { Terminal.note("atto advertise: warning: \(notice)") }
      announce(listener.endpoint)
      await arguments.place?.begun()
      for try await _ in end.stream {}
      listener.stop()
      return
    }
    let adapter = try await Radios.open(endpoint, on: loop)
    let advertisement = try await adapter.advertise(parameters)
    let watching = Task(executorPreference: loop.tasks) {
      for await _ in advertisement.links {}
      if let reason = await adapter.endReason {
        end.continuation.finish(throwing: reason)
      }
    }
    defer { watching.cancel() }
    announce(adapter.address.description)
    await arguments.place?.begun()
    for try await _ in end.stream {}
    advertisement.stop()
    await adapter.close()
  }

  /// `NAME:HEX`.
  private static func pair(_ text: String) -> (name: String, octets: [UInt8])? {
    let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
    guard parts.count == 2, let octets = try? octets(argument: parts[1]) else { return nil }
    return (parts[0], octets)
  }

  /// The name in `air:NAME`; nil if it is an address.
  private static func localName(_ endpoint: Endpoint) -> String? {
    guard case .air(let name, _) = endpoint, !name.isEmpty, !name.contains(":") else { return nil }
    return name
  }
}
