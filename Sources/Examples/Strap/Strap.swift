import Atto

/// A heart-rate strap, for any number of clients.
@main struct Strap {
  static func main() async throws {
    let server = LocalServer(Database(name: "Strap"))
    let heart = try await server.add(
      ServiceDefinition(
        .heartRate,
        characteristics: [
          CharacteristicDefinition(.heartRateMeasurement, properties: .notify),
          CharacteristicDefinition(
            .bodySensorLocation, properties: .read,
            value: .application(ValueLimits(maximumLength: 1))),
          CharacteristicDefinition(
            .heartRateControlPoint, properties: .write,
            value: .application(ValueLimits(maximumLength: 1))),
        ])
    ) { handlers in
      // A handler may take its time: only its client waits.
      handlers.onRead(of: .bodySensorLocation) { _ in [.random(in: 0...6)] }
      handlers.onWriteValue(of: .heartRateControlPoint) { (_, value) throws(ErrorCode) in
        if value != [1] { throw ErrorCode(0x80) }
      }
    }
    var data = AdvertisingData()
    data.localName = "Strap"
    data.serviceUUIDs = [.heartRate]
    // The server listens until this is released.
    let listener = try await server.listen(
      on: Endpoint("air:Strap"), options: ListenOptions(advertising: data),
      onFailure: { print("a client could not be served:", $0) })
    print("listening on", listener.endpoint)
    let rate = heart[.heartRateMeasurement].valueHandle
    while true {
      try await server.loop.sleep(for: .seconds(1))
      try await server.notify([0, .random(in: 60...80)], of: rate)
    }
  }
}
